// EventLoop: one per rank and thread. It asks its pollers for completions and then resumes the coroutines that are
// ready; with nothing to do it spins, yields, and at last sleeps until a peer rings its doorbell, a timer is due or I/O
// completes.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>

#include "runtime/core/doorbell.hpp"
#include "runtime/core/io.hpp"
#include "runtime/core/scheduler.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {

/// How a loop's first task has ended, if it has.
struct RootEnd {
  bool reached = false;
  std::exception_ptr error;
};

/// Is told by a loop that has nothing to do, in its thread: for who watches over it from outside.
class IdleObserver {
 public:
  /// The doorbell is announced: who rings it from now on has this called again. Resumes nobody.
  virtual void falls_asleep() noexcept = 0;
  /// Whether falls_asleep() has something to answer: then the loop calls it again without yielding first.
  virtual bool is_asked() const noexcept = 0;

 protected:
  ~IdleObserver() = default;
};

class EventLoop final : public Scheduler {
 public:
  /// `doorbell`: where peers wake this loop; it must outlive the loop. Null: one of the loop's own.
  explicit EventLoop(Clock& clock = real_clock(), Doorbell* doorbell = nullptr);
  ~EventLoop();

  /// Turns, and sleeps between, until `root` has finished; rethrows its error.
  void run(Task<void> root);
  /// For who turns the loop himself: starts `root`, whose end is noted in `end`, which must live until then.
  void start_root(Task<void> root, RootEnd& end);
  /// Turns, and sleeps between, until `done()`, which only what this loop does makes true.
  template <class Predicate>
  void run_until(Predicate done) {
    run_until(std::move(done), [] { return false; });
  }
  /// The same, unless `is_called_off()` before, which is asked when there is nothing to do. Whether `done()`.
  template <class Predicate, class CalledOff>
  bool run_until(Predicate done, CalledOff is_called_off) {
    std::uint32_t idle_turns = 0;
    while (!done()) {
      if (turn() || (idle_turns == 0 && idle_policy().spins > 0 && !done() && spin())) {
        idle_turns = 0;
      } else if (!done()) {
        if (is_called_off()) return false;
        idle(idle_turns);
      }
    }
    return true;
  }

  /// For who turns the loop himself, after `idle_turns` turns in a row that have found nothing: waits for a moment, or
  /// sleeps.
  void idle(std::uint32_t& idle_turns);
  /// What he waited for has come, of which the loop may know nothing.
  void end_idle() noexcept { tell_busy(); }
  /// Before the first io(): from now on several threads turn this loop, one at a time. It uses epoll, since a ring of
  /// io_uring belongs to a thread. The gate must outlive the loop.
  void share(LoopGate& gate);
  /// Whether it can be from now on.
  bool may_be_shared() const noexcept { return io_ == nullptr; }

  Scope& root_scope() noexcept { return *root_scope_; }
  Doorbell& doorbell() noexcept { return *doorbell_; }
  /// Files and descriptors; made at first use (io_uring, or epoll and threads where that is refused).
  Io& io();
  /// Before the first io(): epoll, whatever else the kernel offers. For who may not hold memory that is locked or
  /// mapped by the kernel, since other processes share or inherit it.
  void use_epoll();
  /// True while the kernel works for this loop: real time must pass before anything comes of it.
  bool io_in_flight() const noexcept { return io_ && io_->in_flight() > 0; }
  /// Null: nobody. It must outlive the loop, or be taken back.
  void set_idle_observer(IdleObserver* observer) noexcept { idle_observer_ = observer; }
  /// CPU-idle sleeps so far, for tests and statistics.
  std::uint64_t sleep_count() const noexcept { return sleep_count_; }

 private:
  friend struct DebuggerLayout;

  bool is_asked() const noexcept { return idle_observer_ != nullptr && idle_observer_->is_asked(); }
  bool spin();
  /// Yields the processor; false: somebody else has had it for a while.
  bool linger();
  void sleep();
  /// Nanoseconds; nothing: there is none.
  std::optional<std::uint64_t> until_next_timer();

  std::unique_ptr<Doorbell> own_doorbell_;
  Doorbell* doorbell_;
  std::uint64_t sleep_count_ = 0;
  IdleObserver* idle_observer_ = nullptr;
  std::unique_ptr<Scope> root_scope_;
  std::unique_ptr<Io> io_;
  LoopGate* gate_ = nullptr;  // null: one thread turns it
};

}  // namespace coracle::internals
