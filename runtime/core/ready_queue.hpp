// ReadyQueue: the first-in first-out queue of coroutines that a loop will resume.
#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>
#include <vector>

namespace coracle::internals {

/// A ring of handles that doubles when full. Used by one thread.
class ReadyQueue {
 public:
  ReadyQueue();
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
  void grow();

  std::size_t capacity_ = 64;
  std::vector<std::coroutine_handle<>> slots_;  // as many
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

}  // namespace coracle::internals
