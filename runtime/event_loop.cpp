// The loop's turn, and what it does when there is nothing to do.
#include "runtime/event_loop.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "runtime/cpu_pause.hpp"
#include "runtime/io.hpp"
#include "runtime/join.hpp"
#include "runtime/task.hpp"

namespace coracle::internals {
namespace {

Task<> run_root(Task<> root, RootEnd& end) {
  try {
    co_await root;
  } catch (...) {
    end.error = std::current_exception();
  }
  end.reached = true;
}

}  // namespace

EventLoop::EventLoop(Clock& clock, Doorbell* doorbell)
    : clock_(clock),
      own_doorbell_(doorbell == nullptr ? std::make_unique<Doorbell>() : nullptr),
      doorbell_(doorbell == nullptr ? own_doorbell_.get() : doorbell),
      now_ns_(clock.now_ns()),
      root_scope_(std::make_unique<Scope>(*this, nullptr)) {}

EventLoop::~EventLoop() {
  root_scope_.reset();
  FramePool::trim();
}

void EventLoop::remove_poller(Poller& poller) noexcept {
  std::erase(pollers_, &poller);
}

Io& EventLoop::io() {
  if (!io_) {
    io_ = make_io(*this);
    add_poller(*io_);
  }
  return *io_;
}

bool EventLoop::io_in_flight() const noexcept {
  return io_ && io_->in_flight() > 0;
}

void EventLoop::begin_on_stack(const void* frame) noexcept {
  stack_limit_ = reinterpret_cast<std::uintptr_t>(frame) - kStackBytesMax;
  if (deferred_.empty()) stack_floor_ = stack_limit_;
}

void EventLoop::resume(std::coroutine_handle<> coroutine) {
  coroutine.resume();
  if (!deferred_.empty()) [[unlikely]]
    run_deferred();
  while (next_) {
    std::exchange(next_, nullptr).resume();
    if (!deferred_.empty()) [[unlikely]]
      run_deferred();
  }
}

/// What a start defers in turn comes before all that was deferred after it, and the parent of what has finished comes
/// between the two: the order that nested calls would have.
void EventLoop::run_deferred() {
  std::vector<std::coroutine_handle<>> rest;  // the next one last
  do {
    if (next_) deferred_.push_back(std::exchange(next_, nullptr));
    rest.insert(rest.end(), deferred_.rbegin(), deferred_.rend());
    deferred_.clear();
    stack_floor_ = stack_limit_;
    const std::coroutine_handle<> coroutine = rest.back();
    rest.pop_back();
    coroutine.resume();
  } while (next_ || !deferred_.empty() || !rest.empty());
}

bool EventLoop::run_ready() {
  const bool any_deferred = !deferred_.empty();  // by who turns the loop
  if (any_deferred) [[unlikely]]
    run_deferred();
  // Only what is ready now: coroutines that become ready meanwhile wait until the pollers have been asked again.
  std::size_t count = ready_.size();
  if (count == 0) return any_deferred;
  do {
    if (order_ != nullptr) [[unlikely]]
      ready_.swap_with_head(order_->pick(count));
    resume(ready_.pop());
  } while (--count != 0);
  return true;
}

bool EventLoop::poll_all() {
  bool progress = false;
  // By index, from the back: a poller may remove itself, or add another.
  for (std::size_t i = pollers_.size(); i-- > 0;) progress |= i < pollers_.size() && pollers_[i]->poll();
  if (!timers_.empty()) progress |= timers_.fire_due(exact_now_ns());
  return progress;
}

bool EventLoop::turn() {
  constexpr std::uint32_t kTurnsPerClockRead = 128;
  if (++turns_ % kTurnsPerClockRead == 0) exact_now_ns();
  begin_on_stack(__builtin_frame_address(0));
  const bool progress = poll_all();
  return run_ready() || progress;
}

bool EventLoop::spin() {
  // Most answers come within a microsecond: until then nothing stands between two looks, not even a pause, which costs
  // as much as a cache line's way from core to core.
  constexpr int kLooks = 64;
  for (int look = 0; look < kLooks; ++look)
    if (poll_all()) return true;
  return false;
}

void EventLoop::idle(std::uint32_t& idle_turns) {
  ++idle_turns;
  if (idle_turns <= idle_.spins) {
    cpu_pause();
  } else if (idle_turns <= idle_.spins + idle_.yields) {
    ::sched_yield();
  } else {
    sleep();
    idle_turns = idle_.spins;  // after a vain wake-up: yield a little, don't spin again
  }
}

void EventLoop::sleep() {
  const bool with_io = io_in_flight();
  doorbell_->announce(with_io ? Doorbell::kOnEventFd : Doorbell::kOnFutex);
  for (Poller* poller : pollers_) poller->about_to_sleep();
  // Once more after the announcement: whoever published before it did not ring (see Doorbell).
  if (!poll_all() && !has_ready()) {
    std::optional<std::uint64_t> timeout_ns;
    if (!timers_.empty()) {
      const std::uint64_t now = exact_now_ns();
      timeout_ns = timers_.earliest_ns() > now ? timers_.earliest_ns() - now : 0;
    }
    ++sleep_count_;
    if (with_io)
      io_->sleep(timeout_ns);
    else
      doorbell_->sleep_on_futex(timeout_ns);
    exact_now_ns();
  }
  doorbell_->withdraw();
}

void EventLoop::start_root(Task<> root, RootEnd& end) {
  begin_on_stack(__builtin_frame_address(0));
  root_scope_->spawn(run_root(std::move(root), end));
}

void EventLoop::run(Task<> root) {
  RootEnd end;
  start_root(std::move(root), end);
  std::uint32_t idle_turns = 0;
  while (!end.reached) {
    if (turn() || (idle_turns == 0 && idle_.spins > 0 && !end.reached && spin()))
      idle_turns = 0;
    else if (!end.reached)
      idle(idle_turns);
  }
  if (end.error) std::rethrow_exception(end.error);
}

}  // namespace coracle::internals
