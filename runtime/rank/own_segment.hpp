// OwnSegment: a rank's own segment, out of which it gives slabs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/job/remote.hpp"
#include "runtime/job/slab.hpp"

namespace coracle::internals {

class JobRegion;
class SegmentHeap;

class OwnSegment {
 public:
  OwnSegment(const JobRegion& region, std::uint32_t rank);
  ~OwnSegment();
  OwnSegment(const OwnSegment&) = delete;
  OwnSegment& operator=(const OwnSegment&) = delete;

  std::byte* begin() const noexcept { return begin_; }
  SegmentHeap& heap() noexcept { return *heap_; }
  /// `count` value-initialised elements. Throws Error (segment_full).
  template <class T>
  Slab<T> allocate(std::size_t count) {
    const std::uint64_t offset = allocate_offset(byte_count(count, sizeof(T)), alignof(T));
    auto* data = reinterpret_cast<T*>(begin_ + offset);
    std::uninitialized_value_construct_n(data, count);
    return {*heap_, data, count, Remote<T>(RemoteAddress{marked(offset), rank_, RemoteAddress::kOwnSegment})};
  }
  /// Bytes that nothing is written to, and that are not marked; at a multiple of 64 and of `alignment`, a power of 2.
  Slab<std::byte> allocate_raw(std::size_t bytes, std::size_t alignment = 1);

 private:
  std::uint64_t allocate_offset(std::size_t bytes, std::size_t alignment);
  std::uint64_t marked(std::uint64_t offset) noexcept;

  const std::uint32_t rank_;
  std::byte* const begin_;
  const std::unique_ptr<SegmentHeap> heap_;
};

}  // namespace coracle::internals
