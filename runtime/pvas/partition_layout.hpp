// Where things lie: the arena of partitions inside the address space, and the parts of one partition. The order keeps
// what every task touches (stack top, control block, ld.so, program, heap start; then the libraries) in few 2 MiB
// regions of one GiB, because each region costs a page of page tables per task.
#pragma once

#include <cstdint>

namespace coracle::internals::pvas {

inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kMiB = 1ULL << 20;
inline constexpr std::uint64_t kGiB = 1ULL << 30;
inline constexpr std::uint64_t kHugeBytes = 2 * kMiB;

/// Above AddressSanitizer's shadow and below where the kernel puts PIE programs.
inline constexpr std::uint64_t kArenaBegin = 0x120000000000;
inline constexpr std::uint64_t kArenaEnd = 0x540000000000;
/// The last of it is for the self-test, so that it can run beside tasks.
inline constexpr std::uint64_t kTasksEnd = kArenaEnd - 16 * kGiB;
inline constexpr std::uint64_t kPartitionBytesMin = 4 * kGiB;
inline constexpr std::uint64_t kPartitionBytesMax = 512 * kGiB;
/// Control block and the bitmaps behind it.
inline constexpr std::uint64_t kControlBytes = 64 * 1024;

constexpr std::uint64_t page_down(std::uint64_t value) noexcept {
  return value & ~(kPageBytes - 1);
}
constexpr std::uint64_t page_up(std::uint64_t value) noexcept {
  return page_down(value + kPageBytes - 1);
}
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) noexcept {
  return (value + alignment - 1) / alignment * alignment;
}

/// Where partitions may lie: peers lie in it, what the kernel places by its own choice does not.
struct Arena {
  std::uint64_t begin = kArenaBegin;
  std::uint64_t end = kArenaEnd;
};

/// One partition, from low to high: the near zone (mappings under 2 MiB and all program text, within a jump's reach of
/// the stubs), a gap, the stack with the control block above it, the stubs, the images that the root maps, the private
/// brk area, the far zone (mappings of 2 MiB and more), and a gap up to the next partition.
struct PartitionLayout {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Arena arena;

  std::uint64_t near_begin() const noexcept { return begin; }
  std::uint64_t near_end() const noexcept { return begin + 704 * kMiB; }
  /// The stack ends here, inside a 2 MiB region, so that its first pages share that region with what follows.
  std::uint64_t stack_end() const noexcept { return begin + 976 * kMiB + 256 * 1024; }
  std::uint64_t control_begin() const noexcept { return stack_end(); }
  std::uint64_t stubs_begin() const noexcept { return control_begin() + kControlBytes; }
  std::uint64_t images_begin() const noexcept { return stubs_begin() + kPageBytes; }
  std::uint64_t brk_end() const noexcept { return begin + kGiB + (end - begin) / 4; }
  std::uint64_t far_begin() const noexcept { return brk_end(); }
  std::uint64_t far_end() const noexcept { return end - kHugeBytes; }
};

/// The stack may not be larger than the room between the near zone and its end.
inline constexpr std::uint64_t kStackBytesMax = 256 * kMiB;

}  // namespace coracle::internals::pvas
