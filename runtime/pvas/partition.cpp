// Filling and emptying a partition; its page of stubs, byte by byte.
#include "runtime/pvas/partition.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>

#include "runtime/core/error.hpp"
#include "runtime/pvas/control.hpp"
#include "runtime/pvas/places.hpp"

namespace coracle::internals::pvas {
namespace {

constexpr std::uint64_t kStackBytesDefault = 8 * kMiB;
constexpr std::uint64_t kStackBytesMin = kMiB;

std::uint64_t stack_bytes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kStackBytesDefault;
  return page_up(std::clamp<std::uint64_t>(limit.rlim_cur, kStackBytesMin, kStackBytesMax));
}

/// All rings of io_uring in this address space, whosever they are.
std::vector<RangeTable::Range> mapped_rings() {
  std::vector<RangeTable::Range> rings;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" anon_inode:[io_uring]") == std::string::npos) continue;
    RangeTable::Range range{};
    const char* const text_end = line.data() + line.size();
    const auto begin = std::from_chars(line.data(), text_end, range.begin, 16);
    if (begin.ptr == text_end || *begin.ptr != '-') continue;
    std::from_chars(begin.ptr + 1, text_end, range.end, 16);
    rings.push_back(range);
  }
  return rings;
}

std::string task_name(const SpawnOptions& options, const ProgramLaunch& launch) {
  if (!options.name.empty()) return options.name;
  const std::string& path = launch.program->path;
  return path.substr(path.rfind('/') + 1);
}

void put_distance(unsigned char* code, std::uint64_t from_next, std::uint64_t target) noexcept {
  const auto distance = static_cast<std::int32_t>(static_cast<std::int64_t>(target - from_next));
  std::memcpy(code, &distance, sizeof(distance));
}

/// Writes the stubs' page for `control`'s partition at `page`, which is writable.
void write_stubs(unsigned char* page, const Control& control) noexcept {
  const std::uint64_t base = control.layout.stubs_begin();
  const auto address_of = [](const void* field) { return reinterpret_cast<std::uint64_t>(field); };
  std::memset(page, 0xcc, kPageBytes);  // int3
  const unsigned char indirect_jump[] = {0xff, 0x25};
  std::memcpy(page, indirect_jump, sizeof(indirect_jump));  // jmp *hook_entry(%rip)
  put_distance(page + 2, base + 6, address_of(&control.hook_entry));
  for (unsigned i = 0; i < kRedirectsMax; ++i) {
    unsigned char* code = page + kStubsOffset + i * kStubBytes;
    const std::uint64_t place = stub_address(control.layout, i);
    const unsigned char step_over[] = {0x48, 0x8d, 0x64, 0x24,
                                       0x80};  // lea -128(%rsp), %rsp: leaf code keeps data there
    std::memcpy(code, step_over, sizeof(step_over));
    code[5] = 0xe8;  // call the page's start
    put_distance(code + 6, place + kStubReturnOffset, base);
    const unsigned char step_back[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0};  // lea 128(%rsp), %rsp
    std::memcpy(code + 10, step_back, sizeof(step_back));
    std::memcpy(code + 18, indirect_jump, sizeof(indirect_jump));  // jmp *resume(%rip)
    put_distance(code + 20, place + 24, address_of(&control.redirects[i].resume));
  }
}

constexpr rlim_t kWithoutProcMax = 65536;

/// Slots in the descriptor table; every open descriptor is below.
unsigned int table_size() {
  std::array<char, 2048> text{};  // FDSize is among the first lines.
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t got = ::read(fd, text.data(), text.size() - 1);
    ::close(fd);
    const char* const line = got > 0 ? std::strstr(text.data(), "\nFDSize:") : nullptr;
    const unsigned long size = line != nullptr ? std::strtoul(line + std::strlen("\nFDSize:"), nullptr, 10) : 0;
    if (size > 0) return static_cast<unsigned int>(size);
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<unsigned int>(std::min(limit.rlim_cur, kWithoutProcMax));
}

/// How far a new task must look for descriptors that it may not inherit: the open ones behind the three standard ones:
/// looking upwards from 3, one may stop after `count` of them, or at `limit`, whatever comes first.
struct OpenFds {
  unsigned int count = 0;
  unsigned int limit = 0;
};

/// Of this process, now. Newer kernels count open descriptors for a stat of /proc/self/fd; all tell the table's size in
/// /proc/self/status, which is slower to read.
OpenFds open_fds() {
  struct stat status {};
  if (::stat("/proc/self/fd", &status) != 0 || status.st_size == 0) return {~0U, table_size()};  // Before Linux 6.2.
  auto count = static_cast<unsigned int>(status.st_size);
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) >= 0) --count;
  }
  return {count, ~0U};
}

}  // namespace

void Partition::release() noexcept {
  if (control_mapped_ && sites_ != nullptr) {
    for (unsigned i = 0; i < RangeTable::kEntries; ++i) {
      const RangeTable::Range range = control().outside.at(i);
      if (range.end > range.begin && !touches_arena(control(), range.begin, range.end))
        unmap(range.begin, range.end - range.begin);
    }
  }
  unmap(layout_.begin, layout_.end - layout_.begin);
  control_mapped_ = false;
}

void Partition::release_rings() {
  if (!control_mapped_ || sites_ == nullptr) return;
  RangeTable& outside = control().outside;
  for (const RangeTable::Range& ring : mapped_rings()) {
    for (unsigned i = 0; i < RangeTable::kEntries; ++i) {
      const RangeTable::Range noted = outside.at(i);
      const std::uint64_t begin = std::max(ring.begin, noted.begin);
      const std::uint64_t end = std::min(ring.end, noted.end);
      if (begin >= end) continue;
      unmap(begin, end - begin);
      outside.remove(begin, end);
    }
  }
}

bool Partition::is_starting() const noexcept {
  // Relaxed: an estimate; pairs with settle() in the hook.
  return std::atomic_ref(control().settled).load(std::memory_order_relaxed) == 0;
}

void Partition::prepare_control(std::uint64_t stack_size) {
  const std::uint64_t begin = layout_.stack_end() - stack_size;
  // Stack and control block in one mapping: one less of the few that vm.max_map_count grants.
  map_exactly(begin, layout_.stubs_begin() - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
              -1, 0, "a task's stack");
  control_mapped_ = true;
  Control& block = *new (reinterpret_cast<void*>(layout_.control_begin())) Control;
  block.layout = layout_;
  if (sites_ == nullptr) return;
  block.sites = sites_;
  block.hook_entry = reinterpret_cast<std::uint64_t>(&coracle_pvas_hook_entry);
  begin_places(block);
  map_exactly(layout_.stubs_begin(), kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0,
              "a task's stubs");
  auto* page = reinterpret_cast<unsigned char*>(layout_.stubs_begin());
  write_stubs(page, block);
  if (::mprotect(page, kPageBytes, PROT_READ | PROT_EXEC) != 0)
    throw_errno(errno, "cannot make a task's stubs executable");
}

void Partition::prepare_image(const ProgramLaunch& launch) {
  Control& block = control();
  const ProgramFile& file = *launch.image;
  const MappedImage image = map_image(file, layout_.images_begin(), layout_.brk_end());
  block.start.entry = image.entry;
  std::uint64_t end = image.end;
  if (sites_ == nullptr) return;
  for (const ElfSegment& segment : file.elf.segments) {
    if ((segment.protection & PROT_EXEC) == 0) continue;
    const std::uint64_t begin = image.bias + page_down(segment.vaddr);
    const long done = redirect_mapping(block, begin, page_up(image.bias + segment.vaddr + segment.file_bytes) - begin,
                                       segment.protection, file.fd, page_down(segment.file_offset));
    if (done < 0)
      throw_errno(static_cast<int>(-done), fmt::format("cannot redirect the system calls of {}", file.path));
  }
  const ElfFile& program = launch.program->elf;
  if (launch.program != launch.image && program.alignment <= kPageBytes) {
    block.program_slot = end;
    block.program_slot_bytes = program.span_end() - program.span_begin();
    end += block.program_slot_bytes;
  }
  block.brk_begin = block.brk_now = end + kPageBytes;
}

void Partition::prepare(const ProgramLaunch& launch, const SpawnOptions& options,
                        const std::vector<AuxEntry>& auxiliary) {
  const std::uint64_t stack_size = stack_bytes();
  prepare_control(stack_size);
  prepare_image(launch);
  StackWriter writer(layout_.stack_end(), layout_.stack_end() - stack_size / 4);
  StartOrders& orders = control().start;
  write_orders(writer, options);
  std::strncpy(orders.name, task_name(options, launch).c_str(), sizeof(orders.name) - 1);
  const ElfFile& image = launch.image->elf;
  const std::uint64_t headers = orders.entry - image.entry + image.headers_vaddr;
  orders.stack_pointer = write_initial_stack(writer, launch.arguments, options.environment, auxiliary,
                                             {headers, image.header_count, orders.entry, launch.program->path});
}

void Partition::write_orders(StackWriter& writer, const SpawnOptions& options) {
  StartOrders& orders = control().start;
  const int standard_fds[] = {options.stdin_fd, options.stdout_fd, options.stderr_fd};
  std::copy_n(standard_fds, 3, orders.standard_fds);
  const OpenFds fds = open_fds();
  orders.open_fds = fds.count;
  orders.fd_limit = fds.limit;
  orders.root_pid = ::getpid();
  orders.parent_death_signal = options.parent_death_signal;
  orders.new_process_group = options.new_process_group;
  orders.group_table = options.group_table;
  orders.core_dumps = options.core_dumps;
  control().huge_pages = options.huge_pages ? 1 : 0;
  if (!options.keep_fds.empty()) {
    const std::size_t size = options.keep_fds.size() * sizeof(int);
    orders.keep_fds = reinterpret_cast<const int*>(writer.push(options.keep_fds.data(), size, alignof(int)));
    orders.keep_count = options.keep_fds.size();
  }
  if (!options.cpus.empty()) {
    const auto highest = static_cast<std::size_t>(*std::max_element(options.cpus.begin(), options.cpus.end()));
    std::vector<unsigned long> mask(highest / 64 + 1);
    for (const int cpu : options.cpus) mask[static_cast<std::size_t>(cpu) / 64] |= 1UL << (cpu % 64);
    orders.cpu_mask_bytes = mask.size() * sizeof(unsigned long);
    orders.cpu_mask = reinterpret_cast<const void*>(writer.push(mask.data(), orders.cpu_mask_bytes, 8));
  }
  rlimit data{};
  ::getrlimit(RLIMIT_DATA, &data);
  // The kernel's brk belongs to the whole address space; a soft limit of 0 makes it fail and leaves mmap alone.
  orders.data_limit[0] = 0;
  orders.data_limit[1] = data.rlim_max;
  control().inherited_data_limit[0] = data.rlim_cur;
  control().inherited_data_limit[1] = data.rlim_max;
}

}  // namespace coracle::internals::pvas
