// How a ready queue doubles; and the loop's turn: asking the pollers, and resuming what is ready.
#include "runtime/core/scheduler.hpp"

#include <utility>

#include "runtime/core/events.hpp"

namespace coracle::internals {

ReadyQueue::ReadyQueue() : slots_(capacity_) {}

void ReadyQueue::grow() {
  std::vector<std::coroutine_handle<>> slots(capacity_ * 2);
  for (std::size_t at = head_; at != tail_; ++at) slots[at & (slots.size() - 1)] = slots_[at & (capacity_ - 1)];
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

/// What a start defers in turn comes before all that was deferred after it, and the parent of what has finished comes
/// between the two: the order that nested calls would have.
void Scheduler::run_deferred() {
  std::vector<std::coroutine_handle<>> rest;  // the next one last
  do {
    if (next_) defer(std::exchange(next_, nullptr));
    rest.insert(rest.end(), deferred_.rbegin(), deferred_.rend());
    deferred_.clear();
    stack_floor_ = stack_limit_;
    const std::coroutine_handle<> coroutine = rest.back();
    rest.pop_back();
    resume_one(coroutine);
  } while (next_ || any_deferred() || !rest.empty());
}

bool Scheduler::run_ready() {
  const std::coroutine_handle<> outer = running_;  // one that turns the loop itself
  bool any = false;
  if (any_deferred()) [[unlikely]] {  // by who turns the loop
    run_deferred();
    any = true;
  }
  // Only what is ready now: coroutines that become ready meanwhile wait until the pollers have been asked again. One
  // that turns the loop itself, as functions do that block, may take others out of the queue.
  const std::size_t end = ready_.end();
  for (; ready_.before(end) > 0; any = true) {
    if (order_ != nullptr) [[unlikely]]
      ready_.swap_with_head(order_->pick(static_cast<std::size_t>(ready_.before(end))));
    resume(ready_.pop());
  }
  running_ = outer;
  return any;
}

bool Scheduler::poll_all() {
  bool progress = false;
  // By index, from the back: a poller may remove itself, or add another.
  for (std::size_t i = pollers_.size(); i-- > 0;) progress |= i < pollers_.size() && pollers_[i]->poll();
  if (!timers_.empty()) progress |= timers_.fire_due(exact_now_ns());
  return progress;
}

void Scheduler::tell_idle() noexcept {
  if (events_ == nullptr || std::exchange(is_told_idle_, true)) [[likely]]
    return;
  events_->tell(CORACLE_SLEEP_BEGIN);
}

[[gnu::cold]] void Scheduler::end_telling_idle() noexcept {
  is_told_idle_ = false;
  if (events_ != nullptr) events_->tell(CORACLE_SLEEP_END);
}

bool Scheduler::turn() {
  bool progress = false;
  if (++turns_ % kTurnsPerClockRead == 0) {
    exact_now_ns();
    progress = fire_rough_timers();
  }
  begin_on_stack(__builtin_frame_address(0));
  progress |= poll_all();
  // Some pollers make coroutines ready and say that they have come no further, of losses.
  if (is_told_idle_ && (progress || has_ready())) [[unlikely]]
    end_telling_idle();
  return run_ready() || progress;
}

}  // namespace coracle::internals
