// Copies between scattered memory and packed bytes, and straight from one layout to another without anything between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/layout/layout.hpp"

namespace coracle::internals {

/// `count` repetitions of `layout` at `origin`, read from. The layout is referred to.
struct ScatteredSource {
  const void* origin;
  const Layout& layout;
  std::uint64_t count = 1;
};

/// The same, written to. No two bytes of it may lie over each other.
struct ScatteredTarget {
  void* origin;
  const Layout& layout;
  std::uint64_t count = 1;
};

// For all: footprint(count) must not throw, memory of the two sides must be apart, and a position behind the end is a
// programmer's mistake. They allocate nothing, throw nothing, and touch no byte outside of what is asked for: any
// threads or ranks may do parts of one copy at a time, that do not overlap.

/// Packs from byte `position` of the packed order on, as much as there is and `room` holds. Gives the bytes done.
std::uint64_t pack(const ScatteredSource& source, std::uint64_t position, std::span<std::byte> room);

/// Unpacks what belongs at byte `position` of the packed order and behind it; gives the bytes done, fewer than there
/// are in `packed` only at the end of the target.
std::uint64_t unpack(std::span<const std::byte> packed, std::uint64_t position, const ScatteredTarget& target);

/// Copies `bytes` from byte `position` of the packed order on, which both sides must have; their layouts may differ.
void copy(const ScatteredTarget& target, const ScatteredSource& source, std::uint64_t position, std::uint64_t bytes);

}  // namespace coracle::internals
