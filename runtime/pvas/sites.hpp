// Finding the places in machine code where a program asks the kernel for memory, and rewriting them to ask the hook
// instead. Runs in the root and, through the hook, in every task; without libc.
#pragma once

#include <cstdint>

#include "runtime/pvas/control.hpp"

namespace coracle::internals::pvas {

/// A `mov $number, %eax` that at most two moves between registers separate from its `syscall`.
struct Site {
  std::uint32_t offset = 0;  ///< Of the mov, from the start of what was searched.
  std::uint16_t number = 0;  ///< Of the system call.
  std::uint8_t between = 0;  ///< Bytes of the instructions in between.
};

/// What is known of one executable mapping of a file.
struct SiteList {
  static constexpr unsigned kMax = 20;  ///< More are left as they are.

  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t changed_s = 0;
  std::uint64_t changed_ns = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  std::uint32_t ready = 0;
  Site sites[kMax] = {};
};

/// Filled by whoever maps a file first, read by all tasks of a space; entries are only ever added. Zeroed memory is
/// empty.
struct SiteCache {
  static constexpr unsigned kMax = 512;  ///< Files beyond are searched by every task.

  std::uint64_t used = 0;
  SiteList lists[kMax];
};

/// The sites of mmap, munmap, mremap, brk, shmat and shmdt in `text`.
void find_sites(const unsigned char* text, std::uint64_t bytes, SiteList& list) noexcept;

/// Rewrites the sites of a text segment that has just been mapped privately at `begin` from `fd` at `offset` with
/// `protection`. Returns how many were rewritten, or -errno when the mapping may not be changed: it is then as it was.
long redirect_mapping(Control& control, std::uint64_t begin, std::uint64_t bytes, int protection, int fd,
                      std::uint64_t offset) noexcept;

/// Rewrites the sites of `list` in writable text at `begin`.
long redirect_sites(Control& control, std::uint64_t begin, const SiteList& list) noexcept;

}  // namespace coracle::internals::pvas
