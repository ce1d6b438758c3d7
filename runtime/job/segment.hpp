// A rank's segment: the memory that its peers may reach. SegmentHeap gives it out, a Slab owns a piece of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "runtime/job/remote.hpp"
#include "runtime/job/slab_marks.hpp"

namespace coracle::internals {

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
  void use_marks(SlabMarks marks) { marks_ = std::make_unique<SlabMarks>(marks); }
  /// What allocate() gave as an offset that is good only until it is released, where slabs are marked.
  std::uint64_t mark(std::uint64_t offset) noexcept;

  std::uint64_t used_bytes() const noexcept;
  std::uint64_t capacity_bytes() const noexcept { return capacity_bytes_; }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // offset → bytes
  std::map<std::uint64_t, std::uint64_t> used_;
  std::unique_ptr<SlabMarks> marks_;  // null: slabs are not marked
  std::uint64_t capacity_bytes_;
};

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
    if (heap_ != nullptr) heap_->release(remote_.address().offset);
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

}  // namespace coracle::internals
