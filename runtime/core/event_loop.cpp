// What the loop does when there is nothing to do; its first task.
#include "runtime/core/event_loop.hpp"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/cpu.hpp"
#include "runtime/core/frame_pool.hpp"

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
    : Scheduler(clock),
      own_doorbell_(doorbell == nullptr ? std::make_unique<Doorbell>() : nullptr),
      doorbell_(doorbell == nullptr ? own_doorbell_.get() : doorbell),
      root_scope_(std::make_unique<Scope>(*this, nullptr)) {}

EventLoop::~EventLoop() {
  root_scope_.reset();
  FramePool::trim();
}

Io& EventLoop::io() {
  if (!io_) {
    io_ = gate_ == nullptr ? make_io(*doorbell_) : make_epoll_io(*doorbell_, gate_);
    add_poller(*io_);
  }
  return *io_;
}

void EventLoop::use_epoll() {
  CORACLE_ASSERT(!io_, "the loop's I/O is made already, by {}", io_->name());
  io_ = make_epoll_io(*doorbell_);
  add_poller(*io_);
}

void EventLoop::share(LoopGate& gate) {
  CORACLE_ASSERT(!io_, "the loop's I/O is made already, by {}", io_->name());
  gate_ = &gate;
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
  const std::uint32_t spins = idle_policy().spins;
  const std::uint32_t lingers = spins > 0 ? spins + idle_policy().lingers : 0;
  const std::uint32_t yields = lingers + idle_policy().yields;
  ++idle_turns;
  if (idle_turns <= spins) {
    cpu_pause();
  } else if (idle_turns <= lingers) {
    if (!linger()) idle_turns = lingers;
    if (is_asked()) idle_turns = yields;
  } else if (idle_turns <= yields) {
    ::sched_yield();
  } else {
    sleep();
    // After a vain wake-up: yield a little, don't spin again. After a question: answer it, and sleep on.
    idle_turns = is_asked() ? yields : lingers;
  }
}

bool EventLoop::linger() {
  // To be woken takes tens of microseconds, and on a virtual machine a hundred, which is much beside what most waits
  // still last. Who needs this processor has it for longer than that.
  constexpr std::uint64_t kTakenNs = 50'000;
  tell_idle();
  const std::uint64_t before_ns = exact_now_ns();
  ::sched_yield();
  return exact_now_ns() - before_ns < kTakenNs;
}

void EventLoop::sleep() {
  const bool with_io = io_in_flight();
  doorbell_->announce(with_io ? Doorbell::kOnEventFd : Doorbell::kOnFutex);
  for (Poller* poller : pollers()) poller->about_to_sleep();
  // Once more after the announcement: whoever published before it did not ring (see Doorbell).
  if (!poll_all() && !has_ready()) {
    if (idle_observer_ != nullptr) idle_observer_->falls_asleep();
    const std::optional<std::uint64_t> timeout_ns = until_next_timer();
    ++sleep_count_;
    tell_idle();
    if (with_io) {
      io_->sleep(timeout_ns);
    } else {
      if (gate_ != nullptr) gate_->open();
      doorbell_->sleep_on_futex(timeout_ns);
      if (gate_ != nullptr) gate_->close();
    }
    exact_now_ns();
    fire_rough_timers();
  }
  tell_busy();
  doorbell_->withdraw();
}

std::optional<std::uint64_t> EventLoop::until_next_timer() {
  if (timers().empty() && rough_timers().empty()) return std::nullopt;
  std::uint64_t earliest_ns = ~std::uint64_t{0};
  for (const TimerQueue* queue : {&timers(), &rough_timers()})
    if (!queue->empty()) earliest_ns = std::min(earliest_ns, queue->earliest_ns());
  const std::uint64_t now_ns = exact_now_ns();
  return earliest_ns > now_ns ? earliest_ns - now_ns : 0;
}

void EventLoop::start_root(Task<> root, RootEnd& end) {
  begin_on_stack(__builtin_frame_address(0));
  root_scope_->spawn(run_root(std::move(root), end));
}

void EventLoop::run(Task<> root) {
  RootEnd end;
  start_root(std::move(root), end);
  run_until([&end] { return end.reached; });
  if (end.error) std::rethrow_exception(end.error);
}

}  // namespace coracle::internals
