// Scheduler: the ready coroutines of one loop, in their order; its pollers, timers and time. EventLoop adds what it
// does when nothing is ready.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/core/timer.hpp"

namespace coracle::internals {

/// The coroutines that a loop will resume, first in, first out: a ring of handles that doubles when full. Used by one
/// thread.
class ReadyQueue {
 public:
  ReadyQueue();
  bool empty() const noexcept { return head_ == tail_; }
  std::size_t size() const noexcept { return tail_ - head_; }

  /// The place behind the last one; growing moves none.
  std::size_t end() const noexcept { return tail_; }
  /// How many are queued before the place `end`; less than one where they are gone, and others with them.
  std::ptrdiff_t before(std::size_t end) const noexcept { return static_cast<std::ptrdiff_t>(end - head_); }

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
  friend struct DebuggerLayout;

  void grow();

  std::size_t capacity_ = 64;
  std::vector<std::coroutine_handle<>> slots_;  // as many
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

/// A source of completions. poll() never resumes a coroutine: it completes waiters, which queue themselves.
class Poller {
 public:
  virtual ~Poller() = default;
  /// Returns true when it made progress. Called by the loop's thread only.
  virtual bool poll() noexcept = 0;
  /// The loop goes to sleep unless the next poll() makes progress: what comes after that must wake it (the doorbell, a
  /// descriptor of Io::wake_on).
  virtual void about_to_sleep() noexcept {}
};

/// Decides in which order ready coroutines run, so that `sim` can try orders that real time would seldom give.
class ReadyOrder {
 public:
  /// Which of `count` coroutines runs next: 0 is the one that waits longest.
  virtual std::size_t pick(std::size_t count) noexcept = 0;

 protected:
  ~ReadyOrder() = default;
};

/// How long an idle loop burns CPU before it sleeps, in turns.
struct IdlePolicy {
  std::uint32_t spins = 4000;  ///< With a CPU pause between; 0 when ranks outnumber cores, or others need them.
  std::uint32_t yields = 20;   ///< With a sched_yield between.
  /// Before these, of who spins: the same, until somebody else takes the processor.
  std::uint32_t lingers = 10'000;
};

class Events;

/// What tasks and waits know of their loop. Loop's thread only.
class Scheduler {
 public:
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Asks each poller, then resumes what was ready. True when anything happened.
  bool turn();
  /// True when some coroutine could be resumed at once.
  bool has_ready() const noexcept { return !ready_.empty() || any_deferred(); }

  void add_poller(Poller& poller);
  void remove_poller(Poller& poller) noexcept;

  /// Queues a coroutine; it runs in a later step of the loop, never inside this call. Loop's thread only.
  void ready(std::coroutine_handle<> coroutine) { ready_.push(coroutine); }

  /// Starts a coroutine by a nested call; when such calls have eaten kStackBytesMax of stack it defers that and returns
  /// false. What is started after it is deferred too, until it has been started: coroutines begin in the order in which
  /// they are started, however deep that is.
  bool start(std::coroutine_handle<> coroutine) {
    // The stack grows downwards. Comparing addresses costs less than counting calls.
    if (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < stack_floor_) [[unlikely]] {
      defer(coroutine);
      return false;
    }
    coroutine.resume();
    return true;
  }

  /// The same for a coroutine whose starter goes on: room is made for it and what it awaits, so that these have begun
  /// before whatever the starter does next. There is an end to such room, too: beyond kSpawnStackBytesMax it defers.
  void spawn(std::coroutine_handle<> coroutine) {
    const std::coroutine_handle<> outer = std::exchange(running_, coroutine);
    start_with_room(coroutine);
    running_ = outer;
  }

  /// What this loop has resumed or spawned last and has not come back from; null: none. Of coroutines that start each
  /// other it is the outermost: a start by an await is noted nowhere, since nothing else would cost as little.
  std::coroutine_handle<> running() const noexcept { return running_; }
  /// The frame in which turn() runs, or who has begun on the stack last.
  const void* stack_begin() const noexcept { return reinterpret_cast<const void*>(stack_limit_ + kStackBytesMax); }

  /// What is started from now on is nested in this frame: said by turn(), and by whoever starts something from
  /// elsewhere.
  void begin_on_stack(const void* frame) noexcept {
    stack_limit_ = reinterpret_cast<std::uintptr_t>(frame) - kStackBytesMax;
    if (!any_deferred()) stack_floor_ = stack_limit_;
  }

  /// Resumes `coroutine` as soon as the present one has returned to the loop (used by a finished task for its parent).
  void resume_next(std::coroutine_handle<> coroutine) noexcept { next_ = coroutine; }

  /// Time as of the last refresh (at most some microseconds of busy work old): cheap. See exact_now_ns().
  std::uint64_t now_ns() const noexcept { return now_ns_; }
  std::uint64_t exact_now_ns() { return now_ns_ = clock_.now_ns(); }

  const Clock& clock() const noexcept { return clock_; }
  TimerQueue& timers() noexcept { return timers_; }
  /// For what may come late: they fire after the loop has slept, and while it is busy in one of kTurnsPerClockRead
  /// turns. An armed one costs a turn nothing, where those of timers() cost it a look at the clock.
  TimerQueue& rough_timers() noexcept { return rough_timers_; }

  /// Null while no tool is told of anything.
  Events* events() const noexcept { return events_; }
  /// They must outlive what they are told of, and be there before that.
  void set_events(Events* events) noexcept { events_ = events; }

  /// Null, which is the default: first come, first served. The order must outlive the loop.
  void set_ready_order(ReadyOrder* order) noexcept { order_ = order; }
  void set_idle_policy(IdlePolicy policy) noexcept { idle_ = policy; }
  /// Whether waiting may burn CPU: no other rank needs it.
  bool spins() const noexcept { return idle_.spins > 0; }

 protected:
  explicit Scheduler(Clock& clock);
  ~Scheduler();

  bool poll_all();
  /// Tools are told that nothing can run here, or, where they have been, that something can again.
  void tell_idle() noexcept;
  void tell_busy() noexcept {
    if (is_told_idle_) [[unlikely]]
      end_telling_idle();
  }
  /// Those that are due by the time as of the last refresh.
  bool fire_rough_timers() noexcept { return !rough_timers_.empty() && rough_timers_.fire_due(now_ns_); }
  const std::vector<Poller*>& pollers() const noexcept { return pollers_; }
  const IdlePolicy& idle_policy() const noexcept { return idle_; }

 private:
  static constexpr std::uint32_t kTurnsPerClockRead = 128;
  static constexpr std::uintptr_t kStackBytesMax = 256 * 1024;
  static constexpr std::uintptr_t kSpawnStackBytes = 64 * 1024;
  static constexpr std::uintptr_t kSpawnStackBytesMax = 512 * 1024;  // of all spawns in each other, beyond the limit
  static constexpr std::uintptr_t kDeferAll = ~std::uintptr_t{0};

  friend struct DebuggerLayout;

  void start_with_room(std::coroutine_handle<> coroutine) {
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const std::uintptr_t floor = stack_floor_;
    const std::uintptr_t own = frame - kSpawnStackBytes;
    if (own >= floor) [[likely]]
      return coroutine.resume();
    if (floor == kDeferAll) return defer(coroutine);
    const std::uintptr_t least = stack_limit_ - kSpawnStackBytesMax;
    const std::uintptr_t wanted = own > least ? own : least;
    stack_floor_ = wanted < floor ? wanted : floor;
    start(coroutine);
    if (!any_deferred()) stack_floor_ = floor;
  }
  bool any_deferred() const noexcept { return stack_floor_ == kDeferAll; }
  void defer(std::coroutine_handle<> coroutine);
  void run_deferred();
  bool run_ready();
  void end_telling_idle() noexcept;
  void resume(std::coroutine_handle<> coroutine) {
    resume_one(coroutine);
    while (next_ || any_deferred()) {
      if (any_deferred()) [[unlikely]]
        run_deferred();
      else
        resume_one(std::exchange(next_, nullptr));
    }
  }
  void resume_as_told(std::coroutine_handle<> coroutine);
  void resume_one(std::coroutine_handle<> coroutine) {
    running_ = coroutine;
    if (events_ != nullptr) [[unlikely]]
      return resume_as_told(coroutine);
    coroutine.resume();
  }

  Clock& clock_;
  Events* events_ = nullptr;
  ReadyQueue ready_;
  ReadyOrder* order_ = nullptr;
  std::coroutine_handle<> next_;
  std::coroutine_handle<> running_;
  std::uintptr_t stack_limit_ = 0;
  std::uintptr_t stack_floor_ = 0;                 // the limit; kDeferAll if, and only if, any are deferred
  std::vector<std::coroutine_handle<>> deferred_;  // what has begun to wait last is last
  std::uint32_t turns_ = 0;
  bool is_told_idle_ = false;
  std::uint64_t now_ns_ = 0;
  IdlePolicy idle_;
  TimerQueue timers_;
  TimerQueue rough_timers_;
  std::vector<Poller*> pollers_;
};

}  // namespace coracle::internals
