// How a ready queue doubles; and the loop's turn: asking the pollers, and resuming what is ready.
#include "runtime/core/scheduler.hpp"

#include <utility>

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

Scheduler::Scheduler(Clock& clock) : clock_(clock), now_ns_(clock.now_ns()) {}

Scheduler::~Scheduler() = default;

void Scheduler::add_poller(Poller& poller) {
  pollers_.push_back(&poller);
}

void Scheduler::remove_poller(Poller& poller) noexcept {
  std::erase(pollers_, &poller);
}

void Scheduler::defer(std::coroutine_handle<> coroutine) {
  deferred_.push_back(coroutine);
  stack_floor_ = kDeferAll;
}

void Scheduler::resume(std::coroutine_handle<> coroutine) {
  resume_one(coroutine);
  if (!deferred_.empty()) [[unlikely]]
    run_deferred();
  while (next_) {
    resume_one(std::exchange(next_, nullptr));
    if (!deferred_.empty()) [[unlikely]]
      run_deferred();
  }
}

/// What a start defers in turn comes before all that was deferred after it, and the parent of what has finished comes
/// between the two: the order that nested calls would have.
void Scheduler::run_deferred() {
  std::vector<std::coroutine_handle<>> rest;  // the next one last
  do {
    if (next_) deferred_.push_back(std::exchange(next_, nullptr));
    rest.insert(rest.end(), deferred_.rbegin(), deferred_.rend());
    deferred_.clear();
    stack_floor_ = stack_limit_;
    const std::coroutine_handle<> coroutine = rest.back();
    rest.pop_back();
    resume_one(coroutine);
  } while (next_ || !deferred_.empty() || !rest.empty());
}

bool Scheduler::run_ready() {
  const std::coroutine_handle<> outer = running_;  // one that turns the loop itself
  const bool any_deferred = !deferred_.empty();    // by who turns the loop
  if (any_deferred) [[unlikely]]
    run_deferred();
  // Only what is ready now: coroutines that become ready meanwhile wait until the pollers have been asked again.
  std::size_t count = ready_.size();
  if (count == 0) {
    if (any_deferred) [[unlikely]]
      running_ = outer;
    return any_deferred;
  }
  do {
    if (order_ != nullptr) [[unlikely]]
      ready_.swap_with_head(order_->pick(count));
    resume(ready_.pop());
    // Empty before that where a coroutine has turned the loop itself, as functions do that block.
  } while (--count != 0 && !ready_.empty());
  running_ = outer;
  return true;
}

bool Scheduler::poll_all() {
  bool progress = false;
  // By index, from the back: a poller may remove itself, or add another.
  for (std::size_t i = pollers_.size(); i-- > 0;) progress |= i < pollers_.size() && pollers_[i]->poll();
  if (!timers_.empty()) progress |= timers_.fire_due(exact_now_ns());
  return progress;
}

bool Scheduler::turn() {
  bool progress = false;
  if (++turns_ % kTurnsPerClockRead == 0) {
    exact_now_ns();
    progress = fire_rough_timers();
  }
  begin_on_stack(__builtin_frame_address(0));
  progress |= poll_all();
  return run_ready() || progress;
}

}  // namespace coracle::internals
