// Values: an array that a call needs, on the stack unless it is long.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace coracle::mpi::openmpi {

inline constexpr int kInline = 64;

/// `count` values on the stack, or of many on the heap; `T` needs no destructor.
template <class T>
class Values {
 public:
  explicit Values(int count) : count_(count > 0 ? static_cast<std::size_t>(count) : 0) {
    if (count_ > kInline) heap_ = std::make_unique<T[]>(count_);
    for (std::size_t i = 0; i < count_ && heap_ == nullptr; ++i) new (inline_ + i * sizeof(T)) T{};
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  T* data() noexcept { return heap_ != nullptr ? heap_.get() : std::launder(reinterpret_cast<T*>(inline_)); }
  const T* data() const noexcept { return const_cast<Values*>(this)->data(); }
  std::size_t count() const noexcept { return count_; }
  T& operator[](std::size_t index) noexcept { return data()[index]; }
  std::span<T> span() noexcept { return {data(), count_}; }

 private:
  std::size_t count_;
  std::unique_ptr<T[]> heap_;
  alignas(T) std::byte inline_[kInline * sizeof(T)];
};

}  // namespace coracle::mpi::openmpi
