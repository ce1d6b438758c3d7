// SegmentHeap: gives out a rank's segment, the memory that its peers may reach; a Slab (slab.hpp) owns a piece of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "runtime/job/slab.hpp"

namespace coracle::internals {

/// First fit over free extents, coalescing. Used by the rank that owns the segment only; peers never allocate.
class SegmentHeap {
 public:
  /// Manages [first, first + bytes) of a segment, in offsets.
  SegmentHeap(std::uint64_t first, std::uint64_t bytes);

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  static constexpr std::uint64_t kAlignment = 64;  ///< Of all that is given out, and more where more is asked for.
  /// Offset of `bytes` at a multiple of `alignment` (a power of two, at least kAlignment); kNone when there is no such
  /// room.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment = kAlignment);
  /// `offset` as allocate() or mark() gave it.
  void release(std::uint64_t offset) noexcept;

  /// From here on mark() has a meaning.
  void use_marks(SlabTags tags) { tags_ = std::make_unique<SlabTags>(tags); }
  /// What allocate() gave as an offset that is good only until it is released, where slabs are tagged.
  std::uint64_t mark(std::uint64_t offset) noexcept;

  std::uint64_t used_bytes() const noexcept;
  std::uint64_t capacity_bytes() const noexcept { return capacity_bytes_; }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // offset → bytes
  std::map<std::uint64_t, std::uint64_t> used_;
  std::unique_ptr<SlabTags> tags_;  // null: slabs are not tagged
  std::uint64_t capacity_bytes_;
};

}  // namespace coracle::internals
