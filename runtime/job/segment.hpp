// A rank's segment: the memory that its peers may reach. SegmentHeap gives it out, a Slab (slab.hpp) owns a piece of
// it, SlabTags knows which, and TeamArea is the part that the signals of the rank's teams take.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "runtime/job/remote.hpp"

namespace coracle::internals {

/// Which slab each piece of a segment belongs to, so that a transfer to a slab that is gone is refused. Asked for by
/// the environment (CORACLE_CHECK_SLABS=1), by each rank for its own segment; otherwise they cost nothing.
///
/// A slab has a number. It stands in the upper 16 bits of the offsets of its remote places, and, for each 64 bytes of
/// the slab, in a table at the segment's end. An offset with a number is larger than any segment, so that it falls out
/// of the comparison that every access makes anyway: only then the table is looked at.
class SlabTags {
 public:
  static constexpr unsigned kShift = 48;
  static constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kShift) - 1;

  /// Whether this process is to mark the slabs of its ranks.
  static bool wanted() noexcept;
  /// Of the table of a segment. It lies at its end, and is all zeroes at first.
  static constexpr std::uint64_t bytes_for(std::uint64_t segment_bytes) noexcept {
    return (segment_bytes / kPieceBytes * sizeof(std::uint16_t) + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
  }
  static constexpr bool is_marked(std::uint64_t offset) noexcept { return offset > kOffsetMask; }
  /// Whether all of the `bytes` at `offset`, which is_marked(), belong to the slab of its number. Any rank that reaches
  /// the segment may ask.
  static bool hold(std::byte* segment, std::uint64_t segment_bytes, std::uint64_t offset, std::uint64_t bytes) noexcept;

  // --- owner of the segment only ---
  SlabTags(std::byte* segment, std::uint64_t segment_bytes) noexcept : table_(table_of(segment, segment_bytes)) {}
  /// A new slab: its offset with its number.
  std::uint64_t give(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void take_back(std::uint64_t offset, std::uint64_t bytes) noexcept { fill(offset, bytes, kNobody); }

 private:
  static constexpr std::uint64_t kPieceBytes = 64;
  static constexpr std::uint16_t kNobody = 0;

  static std::uint16_t* table_of(std::byte* segment, std::uint64_t segment_bytes) noexcept {
    return reinterpret_cast<std::uint16_t*>(segment +
                                            (segment_bytes - bytes_for(segment_bytes)) / kPieceBytes * kPieceBytes);
  }
  void fill(std::uint64_t offset, std::uint64_t bytes, std::uint16_t number) noexcept;

  std::uint16_t* table_;
  std::uint16_t last_ = kNobody;
};

/// First fit over free extents, coalescing. Used by the rank that owns the segment only; peers never allocate.
class SegmentHeap {
 public:
  /// Manages [first, first + bytes) of a segment, in offsets.
  SegmentHeap(std::uint64_t first, std::uint64_t bytes);

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  /// Offset of `bytes` at a multiple of `alignment` (a power of two, at least 64); kNone when there is no such room.
  std::uint64_t allocate(std::uint64_t bytes, std::uint64_t alignment = 64);
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

/// A team's signals, at the same offset of every member's segment, so that nobody has to ask for them.
struct TeamArea {
  Signal arrived;    ///< Raised by this member's children in the barrier's tree.
  Signal released;   ///< Raised by its parent.
  Signal node_area;  ///< Not raised: where in its segment this member's part of the node area lies (node_area.hpp).

  static constexpr std::uint32_t kSlots = 256;  ///< Teams that one rank can be in at a time.
  static constexpr std::uint64_t kAllBytes = 64 * 1024;
};
static_assert(sizeof(TeamArea) * TeamArea::kSlots <= TeamArea::kAllBytes);

}  // namespace coracle::internals
