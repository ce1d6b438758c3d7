// MemoryRoom: how much memory this process has and may still take, for whoever is about to promise much of it: where
// memory runs out, the kernel kills without a word.
#pragma once

#include <cstdint>
#include <string>

namespace coracle::internals {

struct MemoryRoom {
  std::uint64_t used_bytes = 0;  ///< What this process has in memory now.
  std::uint64_t free_bytes = 0;  ///< What it may take besides.
  std::string limit;             ///< What sets the limit, for a message: "what this machine has free".

  std::uint64_t all_bytes() const noexcept { return used_bytes + free_bytes; }
  /// "21.3 GiB (what this machine has free, with the 0.4 GiB that this process has already)".
  std::string text() const;
};

/// Where the kernel tells of it; other places in tests.
struct MemoryFiles {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
};

/// The least of what the machine has free, what the control groups of this process leave it (both versions), and its
/// limit of address space (ulimit -v). What can't be read limits nothing.
MemoryRoom memory_room(const MemoryFiles& files = {});

/// What this process has in memory, for who asks again and again: one system call.
class MemoryUsed {
 public:
  MemoryUsed() noexcept;
  ~MemoryUsed();
  MemoryUsed(const MemoryUsed&) = delete;
  MemoryUsed& operator=(const MemoryUsed&) = delete;
  /// 0 when the kernel does not tell.
  std::uint64_t bytes() const noexcept;

 private:
  int file_;
};

/// What a rank of a simulated job takes at least, before its program does anything: its loop, what is touched of its
/// part of the region, and the page tables for that. (40 KiB, measured at 1,000 to 100,000 ranks.)
inline constexpr std::uint64_t kSimulatedRankBytes = 32 * 1024;

/// Throws Error (ENOMEM) when that room is too small for so many simulated ranks, which are all in one process: says
/// how many it has room for.
void refuse_ranks(std::uint32_t ranks, const MemoryRoom& room);

/// "1.5 GiB", "20 MiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace coracle::internals
