// ExposedPlaces: the rank's own side of the table of its exposed memory: which places are free, and where more of them
// are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/job/exposed_memory.hpp"
#include "runtime/job/segment.hpp"

namespace coracle::internals {

/// Loop's thread only.
class ExposedPlaces {
 public:
  /// `segment`: the rank's own, of which `heap` gives out pieces.
  ExposedPlaces(ExposedTable& table, std::byte* segment, SegmentHeap& heap) noexcept
      : table_(table), segment_(segment), heap_(heap) {}

  /// Exposes memory; its segment number. Throws Error (no_buffer_space) where there can't be more places.
  std::uint32_t add(std::uint64_t address, std::size_t bytes);
  /// Withdraws it: who looks from now on does not find it.
  void remove(std::uint32_t segment) noexcept;

 private:
  std::uint32_t take_free();
  void make_part(std::uint32_t part);

  ExposedTable& table_;
  std::byte* segment_;
  SegmentHeap& heap_;
  std::deque<std::uint32_t> free_;  // those that have been in use; the one that is free for longest first
  std::uint32_t used_ = 0;          // those below have been in use
};

}  // namespace coracle::internals
