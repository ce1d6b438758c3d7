// ReadyQueue: the first-in first-out queue of coroutines that a loop will resume.
#pragma once

#include <coroutine>
#include <cstddef>

#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

/// A ring of handles that doubles when full. Used by one thread.
class ReadyQueue {
 public:
  bool empty() const noexcept { return head_ == tail_; }
  std::size_t size() const noexcept { return tail_ - head_; }

  void push(std::coroutine_handle<> coroutine) {
    if (size() == capacity_) [[unlikely]]
      grow();
    slots_[tail_++ & (capacity_ - 1)] = coroutine;
  }
  std::coroutine_handle<> pop() noexcept { return slots_[head_++ & (capacity_ - 1)]; }
  /// The element `index` places behind the head, and a way to take it first: `sim` runs ready coroutines in random
  /// order.
  void swap_with_head(std::size_t index) noexcept {
    std::swap(slots_[head_ & (capacity_ - 1)], slots_[(head_ + index) & (capacity_ - 1)]);
  }

 private:
  void grow() {
    const std::size_t larger = capacity_ * 2;
    auto slots = std::make_unique<std::coroutine_handle<>[]>(larger);
    for (std::size_t i = 0; i < size(); ++i) slots[i] = slots_[(head_ + i) & (capacity_ - 1)];
    tail_ = size();
    head_ = 0;
    capacity_ = larger;
    slots_ = std::move(slots);
  }

  std::size_t capacity_ = 64;
  std::unique_ptr<std::coroutine_handle<>[]> slots_ = std::make_unique<std::coroutine_handle<>[]>(64);
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace coracle::internals
