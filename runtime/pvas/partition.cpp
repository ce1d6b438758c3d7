// Filling and emptying a partition.
#include "runtime/pvas/partition.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <new>

#include "runtime/core/error.hpp"
#include "runtime/pvas/fd_table.hpp"
#include "runtime/pvas/places.hpp"
#include "runtime/pvas/stubs.hpp"

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
