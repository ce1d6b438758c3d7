// The table of a Guardian: bit N is set while the process group that process N leads is to be killed with the launcher.
// Inline and without a library, since a child sets its own bit before it has one (runtime/pvas/start.cpp).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace coracle::internals::group_table {

inline constexpr std::size_t kNumbers = std::size_t{4} << 20;  ///< PID_MAX_LIMIT of Linux.
inline constexpr std::size_t kBits = 64;
inline constexpr std::size_t kWords = kNumbers / kBits;

inline constexpr bool holds(pid_t group) noexcept {
  return group > 1 && static_cast<std::size_t>(group) < kNumbers;
}
inline constexpr std::uint64_t bit(pid_t group) noexcept {
  return std::uint64_t{1} << static_cast<std::size_t>(group) % kBits;
}

// relaxed: the guardian looks only when it has learned from the kernel that all who write are dead.
inline void add(std::uint64_t* words, pid_t group) noexcept {
  if (words != nullptr && holds(group))
    __atomic_fetch_or(&words[static_cast<std::size_t>(group) / kBits], bit(group), __ATOMIC_RELAXED);
}
inline void remove(std::uint64_t* words, pid_t group) noexcept {
  if (words != nullptr && holds(group))
    __atomic_fetch_and(&words[static_cast<std::size_t>(group) / kBits], ~bit(group), __ATOMIC_RELAXED);
}
inline bool contains(const std::uint64_t* words, pid_t group) noexcept {
  return words != nullptr && holds(group) &&
         (__atomic_load_n(&words[static_cast<std::size_t>(group) / kBits], __ATOMIC_RELAXED) & bit(group)) != 0;
}

}  // namespace coracle::internals::group_table
