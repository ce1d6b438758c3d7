// The machine's clock, and the timer heap.
#include "runtime/core/timer.hpp"

#include <ctime>

#include "runtime/core/assert.hpp"

namespace coracle::internals {
namespace {

class RealClock final : public Clock {
 public:
  std::uint64_t now_ns() const noexcept override {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
  }
};

}  // namespace

Clock& real_clock() noexcept {
  static RealClock clock;
  return clock;
}

bool TimerQueue::before(const Timer* left, const Timer* right) noexcept {
  if (left->deadline_ns_ != right->deadline_ns_) return left->deadline_ns_ < right->deadline_ns_;
  return left->order_ < right->order_;
}

void TimerQueue::place(Timer* timer, std::size_t index) noexcept {
  heap_[index] = timer;
  timer->index_ = index;
}

void TimerQueue::sift_up(std::size_t index) noexcept {
  Timer* timer = heap_[index];
  while (index > 0 && before(timer, heap_[(index - 1) / 2])) {
    place(heap_[(index - 1) / 2], index);
    index = (index - 1) / 2;
  }
  place(timer, index);
}

void TimerQueue::sift_down(std::size_t index) noexcept {
  Timer* timer = heap_[index];
  for (std::size_t child = 2 * index + 1; child < heap_.size(); child = 2 * index + 1) {
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], timer)) break;
    place(heap_[child], index);
    index = child;
  }
  place(timer, index);
}

void TimerQueue::arm(Timer& timer, std::uint64_t deadline_ns) {
  CORACLE_ASSERT(!timer.armed(), "timer is armed already");
  timer.deadline_ns_ = deadline_ns;
  timer.order_ = armed_count_++;
  heap_.push_back(&timer);
  sift_up(heap_.size() - 1);
}

void TimerQueue::disarm(Timer& timer) noexcept {
  if (!timer.armed()) return;
  const std::size_t index = timer.index_;
  timer.index_ = Timer::kIdle;
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  place(last, index);
  sift_up(index);
  sift_down(last->index_);
}

bool TimerQueue::fire_due(std::uint64_t now_ns) noexcept {
  bool any = false;
  while (!heap_.empty() && heap_.front()->deadline_ns_ <= now_ns) {
    Timer* timer = heap_.front();
    disarm(*timer);
    timer->fire();
    any = true;
  }
  return any;
}

}  // namespace coracle::internals
