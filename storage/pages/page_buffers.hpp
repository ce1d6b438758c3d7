// PageBuffers: memory for pages on their way between a file and another node, kept for the next ones.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "storage/store/aligned_buffer.hpp"

namespace coracle::internals::storage {

/// Of one loop.
class PageBuffers {
 public:
  explicit PageBuffers(std::size_t page_bytes) noexcept : page_bytes_(page_bytes) {}

  class Buffer {
   public:
    Buffer(PageBuffers& owner, AlignedBuffer memory) noexcept : owner_(owner), memory_(std::move(memory)) {}
    Buffer(Buffer&&) noexcept = default;
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() {
      if (data() != nullptr) owner_.free_.push_back(std::move(memory_));
    }
    std::byte* data() const noexcept { return memory_.data(); }

   private:
    PageBuffers& owner_;
    AlignedBuffer memory_;
  };

  /// Throws std::bad_alloc.
  Buffer take() {
    if (free_.empty()) {
      free_.reserve(++made_);  // room to give it back, now: ~Buffer can't fail
      return Buffer(*this, AlignedBuffer(page_bytes_));
    }
    Buffer buffer(*this, std::move(free_.back()));
    free_.pop_back();
    return buffer;
  }

 private:
  std::size_t page_bytes_;
  std::size_t made_ = 0;
  std::vector<AlignedBuffer> free_;
};

}  // namespace coracle::internals::storage
