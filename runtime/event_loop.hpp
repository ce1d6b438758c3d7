// EventLoop: one per rank and thread. It asks its pollers for completions and then resumes the coroutines that are
// ready; with nothing to do it spins, yields, and at last sleeps until a peer rings its doorbell, a timer is due or I/O
// completes.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/doorbell.hpp"
#include "runtime/ready_queue.hpp"
#include "runtime/timer.hpp"

namespace coracle::internals {

class Io;
class Scope;
template <class T>
class Task;

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

/// How a loop's first task has ended, if it has.
struct RootEnd {
  bool reached = false;
  std::exception_ptr error;
};

/// How long an idle loop burns CPU before it sleeps.
struct IdlePolicy {
  std::uint32_t spins = 4000;  ///< Turns with a CPU pause between; 0 when ranks outnumber cores.
  std::uint32_t yields = 20;   ///< Turns with a sched_yield between.
};

class EventLoop {
 public:
  /// `doorbell`: where peers wake this loop; it must outlive the loop. Null: one of the loop's own.
  explicit EventLoop(Clock& clock = real_clock(), Doorbell* doorbell = nullptr);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Asks each poller, then resumes what was ready. True when anything happened.
  bool turn();
  /// Turns, and sleeps between, until `root` has finished; rethrows its error.
  void run(Task<void> root);
  /// For who turns the loop himself: starts `root`, whose end is noted in `end`, which must live until then.
  void start_root(Task<void> root, RootEnd& end);
  /// True when some coroutine could be resumed at once.
  bool has_ready() const noexcept { return !ready_.empty() || !deferred_.empty(); }

  void add_poller(Poller& poller) { pollers_.push_back(&poller); }
  void remove_poller(Poller& poller) noexcept;

  /// Queues a coroutine; it runs in a later step of the loop, never inside this call. Loop's thread only.
  void ready(std::coroutine_handle<> coroutine) { ready_.push(coroutine); }

  /// Starts a coroutine by a nested call; when such calls have eaten kStackBytesMax of stack it defers that and returns
  /// false. What is started after it is deferred too, until it has been started: coroutines begin in the order in which
  /// they are started, however deep that is.
  bool start(std::coroutine_handle<> coroutine) {
    // The stack grows downwards. Comparing addresses costs less than counting calls.
    if (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < stack_floor_) [[unlikely]] {
      deferred_.push_back(coroutine);
      stack_floor_ = kDeferAll;
      return false;
    }
    coroutine.resume();
    return true;
  }

  /// The same for a coroutine whose starter goes on: room is made for it and what it awaits, so that these have begun
  /// before whatever the starter does next. There is an end to such room, too: beyond kSpawnStackBytesMax it defers.
  void spawn(std::coroutine_handle<> coroutine) {
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const std::uintptr_t floor = stack_floor_;
    if (floor == kDeferAll || frame - kSpawnStackBytes >= floor) [[likely]] {
      start(coroutine);
      return;
    }
    stack_floor_ = std::min(floor, std::max(frame - kSpawnStackBytes, stack_limit_ - kSpawnStackBytesMax));
    start(coroutine);
    if (stack_floor_ != kDeferAll) stack_floor_ = floor;
  }

  /// Resumes `coroutine` as soon as the present one has returned to the loop (used by a finished task for its parent).
  void resume_next(std::coroutine_handle<> coroutine) noexcept { next_ = coroutine; }

  /// Time as of the last refresh (at most some microseconds of busy work old): cheap. See exact_now_ns().
  std::uint64_t now_ns() const noexcept { return now_ns_; }
  std::uint64_t exact_now_ns() { return now_ns_ = clock_.now_ns(); }

  const Clock& clock() const noexcept { return clock_; }
  TimerQueue& timers() noexcept { return timers_; }
  Scope& root_scope() noexcept { return *root_scope_; }
  Doorbell& doorbell() noexcept { return *doorbell_; }
  /// Files and descriptors; made at first use (io_uring, or epoll and threads where that is refused).
  Io& io();
  /// True while the kernel works for this loop: real time must pass before anything comes of it.
  bool io_in_flight() const noexcept;

  /// Null, which is the default: first come, first served. The order must outlive the loop.
  void set_ready_order(ReadyOrder* order) noexcept { order_ = order; }
  void set_idle_policy(IdlePolicy policy) noexcept { idle_ = policy; }
  /// Whether waiting may burn CPU: no other rank needs it.
  bool spins() const noexcept { return idle_.spins > 0; }
  /// CPU-idle sleeps so far, for tests and statistics.
  std::uint64_t sleep_count() const noexcept { return sleep_count_; }

 private:
  static constexpr std::uintptr_t kStackBytesMax = 256 * 1024;
  static constexpr std::uintptr_t kSpawnStackBytes = 64 * 1024;
  static constexpr std::uintptr_t kSpawnStackBytesMax = 512 * 1024;  // of all spawns in each other, beyond the limit
  static constexpr std::uintptr_t kDeferAll = ~std::uintptr_t{0};

  void begin_on_stack(const void* frame) noexcept;
  void run_deferred();
  bool poll_all();
  bool run_ready();
  bool spin();
  void resume(std::coroutine_handle<> coroutine);
  void idle(std::uint32_t& idle_turns);
  void sleep();

  Clock& clock_;
  std::unique_ptr<Doorbell> own_doorbell_;
  Doorbell* doorbell_;
  ReadyQueue ready_;
  ReadyOrder* order_ = nullptr;
  std::coroutine_handle<> next_;
  std::uintptr_t stack_limit_ = 0;
  std::uintptr_t stack_floor_ = 0;  // the limit; while starts are deferred kDeferAll
  std::vector<std::coroutine_handle<>> deferred_;
  std::uint32_t turns_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t sleep_count_ = 0;
  IdlePolicy idle_;
  TimerQueue timers_;
  std::vector<Poller*> pollers_;
  std::unique_ptr<Scope> root_scope_;
  std::unique_ptr<Io> io_;
};

}  // namespace coracle::internals
