// AlignedBuffer: memory that O_DIRECT accepts.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace coracle::internals::storage {

/// Zeroed bytes at a multiple of 4096.
class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 4096;

  explicit AlignedBuffer(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kAlignment}))), bytes_(bytes) {
    std::memset(data_.get(), 0, bytes);
  }

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return bytes_; }
  std::span<std::byte> span() const noexcept { return {data_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_;
};

}  // namespace coracle::internals::storage
