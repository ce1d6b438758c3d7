// Where in its partition a task's next mapping goes. Part of the hook: no libc, no TLS, no locks; any thread of the
// task.
#pragma once

#include <cstdint>

#include "runtime/pvas/control.hpp"

namespace coracle::internals::pvas {

/// MAP_FIXED_NOREPLACE: the kernel is the judge of what is free.
inline constexpr std::uint64_t kPlaced = 0x100000;
/// How often a place that a bitmap calls free may turn out to be taken before the kernel is left to choose.
inline constexpr int kTriesMax = 1024;

inline bool in_own_partition(const Control& control, std::uint64_t begin, std::uint64_t end) noexcept {
  return begin >= control.layout.begin && end <= control.layout.end && begin < end;
}

inline bool touches_arena(const Control& control, std::uint64_t begin, std::uint64_t end) noexcept {
  return begin < control.layout.arena.end && end > control.layout.arena.begin;
}

/// Sets up both zones of a fresh control block.
void begin_places(Control& control) noexcept;

/// Finds and claims room: text near the stubs, other mappings of 2 MiB and more where huge pages fit. Zone::kNone: no
/// room.
std::uint64_t claim(Control& control, std::uint64_t bytes, bool text) noexcept;

/// Claims the pages behind a mapping that ends at `from`, up to `to`; false when they are not all free.
bool extend_claim(Control& control, std::uint64_t from, std::uint64_t to) noexcept;

/// Claims room and maps it without access, so that a call which replaces it can't hit anything else. Zone::kNone: no
/// room.
std::uint64_t reserve(Control& control, std::uint64_t bytes) noexcept;

/// [begin, end) was mapped at an address that the program chose.
void note_used(Control& control, std::uint64_t begin, std::uint64_t end) noexcept;

/// [begin, end) is no longer mapped.
void note_free(Control& control, std::uint64_t begin, std::uint64_t end) noexcept;

void unmap(std::uint64_t begin, std::uint64_t bytes) noexcept;

}  // namespace coracle::internals::pvas
