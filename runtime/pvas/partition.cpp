// Filling and emptying a partition.
#include "runtime/pvas/partition.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/pvas/image.hpp"

namespace coracle::pvas {
namespace {

constexpr std::uint64_t kStackBytesDefault = 8 * kMiB;
constexpr std::uint64_t kStackBytesMin = kMiB;

std::uint64_t stack_bytes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kStackBytesDefault;
  return page_up(std::clamp<std::uint64_t>(limit.rlim_cur, kStackBytesMin, kStackBytesMax));
}

std::string task_name(const SpawnOptions& options, const Launch& launch) {
  if (!options.name.empty()) return options.name;
  const std::string& path = launch.program->path;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

void Partition::release() noexcept {
  if (!mapped_) return;
  ::munmap(reinterpret_cast<void*>(layout_.begin), layout_.end - layout_.begin);
  mapped_ = false;
}

void Partition::prepare(const Launch& launch, const SpawnOptions& options, const std::vector<AuxEntry>& auxiliary) {
  mapped_ = true;
  const std::uint64_t stack_size = stack_bytes();
  const std::uint64_t stack_begin = layout_.stack_end() - stack_size;
  // Stack and control block in one mapping: one less of the few that vm.max_map_count grants.
  map_exactly(stack_begin, layout_.stubs_begin() - stack_begin, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, "a task's stack");
  Control& block = *new (reinterpret_cast<void*>(layout_.control_begin())) Control;
  block.layout = layout_;
  const MappedImage image = map_image(*launch.image, layout_.images_begin(), layout_.brk_end());

  StackWriter writer(layout_.stack_end(), layout_.stack_end() - stack_size / 4);
  StartOrders& orders = block.start;
  write_orders(writer, options);
  std::strncpy(orders.name.data(), task_name(options, launch).c_str(), orders.name.size() - 1);
  orders.entry = image.entry;
  orders.stack_pointer =
      write_initial_stack(writer, launch.arguments, options.environment, auxiliary,
                          {image.headers, launch.image->elf.header_count, image.entry, launch.program->path});
}

void Partition::write_orders(StackWriter& writer, const SpawnOptions& options) {
  StartOrders& orders = control().start;
  orders.standard_fds = {options.stdin_fd, options.stdout_fd, options.stderr_fd};
  orders.root_pid = ::getpid();
  orders.parent_death_signal = options.parent_death_signal;
  orders.new_process_group = options.new_process_group;
  orders.core_dumps = options.core_dumps;
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
}

}  // namespace coracle::pvas
