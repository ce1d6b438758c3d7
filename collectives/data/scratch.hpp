// Scratch: memory that a collective needs for itself.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace coracle::internals {

/// Not initialised, aligned for any element.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes)
      : data_(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64}))), bytes_(bytes) {}

  std::byte* data() const noexcept { return data_.get(); }
  std::span<std::byte> span() const noexcept { return {data_.get(), bytes_}; }
  std::span<std::byte> subspan(std::size_t offset, std::size_t bytes) const noexcept {
    return span().subspan(offset, bytes);
  }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, std::align_val_t{64}); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_;
};

}  // namespace coracle::internals
