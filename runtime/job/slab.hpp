// What lies in a rank's segment, the memory that its peers may reach: Slab, a piece of it; SlabTags, which know what
// belongs to which; and TeamArea, a team's signals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/job/remote.hpp"

namespace coracle::internals {

class SegmentHeap;

/// For Slab.
void give_back(SegmentHeap& heap, const RemoteAddress& slab) noexcept;

/// Owns `size()` elements in this rank's segment; gives them back when it dies, after which no peer may touch them. It
/// must not outlive its Rank. New elements are value-initialised.
template <class T>
class [[nodiscard]] Slab {
 public:
  Slab() = default;
  Slab(SegmentHeap& heap, T* data, std::size_t size, Remote<T> remote) noexcept
      : heap_(&heap), data_(data), size_(size), remote_(remote) {}
  Slab(Slab&& other) noexcept
      : heap_(std::exchange(other.heap_, nullptr)), data_(other.data_), size_(other.size_), remote_(other.remote_) {}
  Slab& operator=(Slab&& other) noexcept {
    std::swap(heap_, other.heap_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(remote_, other.remote_);
    return *this;
  }
  ~Slab() {
    if (heap_ != nullptr) give_back(*heap_, remote_.address());
  }

  std::span<T> local() const noexcept { return {data_, size_}; }
  Remote<T> remote() const noexcept { return remote_; }
  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  SegmentHeap* heap_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0;
  Remote<T> remote_;
};

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

/// A member's signals of a team. The world's lie at the beginning of every segment, those of another team wherever its
/// members have said (TeamProposal).
struct TeamArea {
  Signal arrived;   ///< Raised by this member's children in the barrier's tree.
  Signal released;  ///< Raised by its parent.

  static constexpr std::uint64_t kWorldBytes = 4096;  ///< A page, so that slabs begin at another one.
};
static_assert(sizeof(TeamArea) <= TeamArea::kWorldBytes);

}  // namespace coracle::internals
