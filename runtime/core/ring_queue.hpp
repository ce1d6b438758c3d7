// RingQueue: first in, first out, in one piece of memory that grows and is then kept: unlike std::deque it allocates
// nothing once it has reached its size.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace coracle::internals {

template <class T>
class RingQueue {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t index) noexcept { return slots_[(first_ + index) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t index) const noexcept { return slots_[(first_ + index) & (slots_.size() - 1)]; }
  T& front() noexcept { return (*this)[0]; }
  T& back() noexcept { return (*this)[size_ - 1]; }
  void push_back(T value) {
    if (size_ == slots_.size()) grow();
    ++size_;
    back() = std::move(value);
  }
  void pop_front() noexcept {
    front() = T();
    first_ = (first_ + 1) & (slots_.size() - 1);
    --size_;
  }
  void pop_back() noexcept {
    back() = T();
    --size_;
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 16 : 2 * slots_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    first_ = 0;
  }
  std::vector<T> slots_;  // a power of two of them
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace coracle::internals
