// PageBuffers: memory for pages on their way between a file and another node, kept for the next ones.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace coracle::internals::storage {

/// Of one loop. Buffers are aligned to 4096, for direct I/O.
class PageBuffers {
 public:
  explicit PageBuffers(std::size_t page_bytes) noexcept : page_bytes_(page_bytes) {}

  class Buffer {
   public:
    Buffer(PageBuffers& owner, std::byte* memory) noexcept : owner_(&owner), memory_(memory) {}
    Buffer(Buffer&& other) noexcept : owner_(other.owner_), memory_(std::exchange(other.memory_, nullptr)) {}
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() {
      if (memory_ != nullptr) owner_->free_.emplace_back(memory_);
    }
    std::byte* data() const noexcept { return memory_; }

   private:
    PageBuffers* owner_;
    std::byte* memory_;
  };

  /// Throws std::bad_alloc.
  Buffer take() {
    // Room to give it back, now: ~Buffer can't fail.
    if (free_.empty()) {
      free_.reserve(++made_);
      return Buffer(*this, static_cast<std::byte*>(::operator new(page_bytes_, kAlignment)));
    }
    std::byte* memory = free_.back().release();
    free_.pop_back();
    return Buffer(*this, memory);
  }

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Delete {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, kAlignment); }
  };
  std::size_t page_bytes_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<std::byte, Delete>> free_;
};

}  // namespace coracle::internals::storage
