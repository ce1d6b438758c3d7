// Slab: a piece of a rank's segment, the memory that its peers may reach.
#pragma once

#include <cstddef>
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

}  // namespace coracle::internals
