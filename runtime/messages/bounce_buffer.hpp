// BounceBuffer: one of BounceBuffers, on loan, for a message in pieces or a packed one; see bounce_buffers.hpp.
#pragma once

#include <cstddef>
#include <utility>

namespace coracle::internals {

class BounceBuffers;

/// Goes back when it dies. Empty: none.
class [[nodiscard]] BounceBuffer {
 public:
  BounceBuffer() = default;
  BounceBuffer(BounceBuffers& of, std::byte* data) noexcept : of_(&of), data_(data) {}
  BounceBuffer(BounceBuffer&& other) noexcept : of_(other.of_), data_(std::exchange(other.data_, nullptr)) {}
  BounceBuffer& operator=(BounceBuffer&& other) noexcept {
    std::swap(of_, other.of_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~BounceBuffer() {
    if (data_ != nullptr) give_back();
  }

  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// Of BounceBuffers::kBufferBytes.
  std::byte* data() const noexcept { return data_; }

 private:
  void give_back() noexcept;

  BounceBuffers* of_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace coracle::internals
