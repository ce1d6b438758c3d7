// How a ready queue doubles.
#include "runtime/core/ready_queue.hpp"

namespace coracle::internals {

ReadyQueue::ReadyQueue() : slots_(capacity_) {}

void ReadyQueue::grow() {
  std::vector<std::coroutine_handle<>> slots(capacity_ * 2);
  for (std::size_t i = 0; i < size(); ++i) slots[i] = slots_[(head_ + i) & (capacity_ - 1)];
  tail_ = size();
  head_ = 0;
  capacity_ = slots.size();
  slots_ = std::move(slots);
}

}  // namespace coracle::internals
