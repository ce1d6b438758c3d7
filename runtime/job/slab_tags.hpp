// SlabTags: which slab each piece of a segment belongs to, so that a transfer to a slab that is gone is refused. Asked
// for by the environment (CORACLE_CHECK_SLABS=1), by each rank for its own segment; otherwise they cost nothing.
//
// A slab has a number. It stands in the upper 16 bits of the offsets of its remote places, and, for each 64 bytes of
// the slab, in a table at the segment's end. An offset with a number is larger than any segment, so that it falls out
// of the comparison that every access makes anyway: only then the table is looked at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coracle::internals {

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

}  // namespace coracle::internals
