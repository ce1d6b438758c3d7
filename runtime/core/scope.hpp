// Scope: owns concurrent children. They never outlive it; cancellation and time limits travel down through it, the
// first error of a child cancels its siblings and travels up. Waiter: one suspended await of something that is
// elsewhere, in the list of its scope.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <system_error>
#include <tuple>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/scheduler.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/core/task.hpp"
#include "runtime/core/wait_detail.hpp"

namespace coracle::internals {

class Waiter;

/// A place in one of a scope's lists (waiters, child scopes).
class ScopeLink {
 public:
  ScopeLink(const ScopeLink&) = delete;
  ScopeLink& operator=(const ScopeLink&) = delete;

 protected:
  /// A place that is in no list yet.
  ScopeLink() = default;
  /// An empty list, or a list's member that may be unlinked before it was linked.
  struct Alone {};
  explicit ScopeLink(Alone) noexcept : previous_(this), next_(this) {}
  ~ScopeLink() = default;

  void insert_before(ScopeLink& other) noexcept {
    previous_ = other.previous_;
    next_ = &other;
    // A signal handler may walk the list forwards at any moment (diagnostics.hpp): it must find each link either in or
    // out.
    std::atomic_signal_fence(std::memory_order_release);
    previous_->next_ = this;
    other.previous_ = this;
  }
  void unlink() noexcept {
    previous_->next_ = next_;
    next_->previous_ = previous_;
    std::atomic_signal_fence(std::memory_order_release);  // as above: not before it is out
    previous_ = next_ = this;
  }

 private:
  friend struct DebuggerLayout;
  friend class Scope;
  ScopeLink* previous_;
  ScopeLink* next_;
};

/// Sees every live wait below a scope; used by the explanation of hangs. Called in a signal handler too: no allocation.
class WaiterVisitor {
 public:
  virtual void visit(const Waiter& waiter, int depth) noexcept = 0;

 protected:
  ~WaiterVisitor() = default;
};

/// Use through with_scope() (below), which joins even when the body throws. Loop's thread only.
class Scope : private ScopeLink {
 public:
  /// A scope below `parent`; null for a loop's root.
  Scope(Scheduler& loop, Scope* parent) noexcept;
  /// Every child must have been joined.
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// Starts `child` at once, up to its first suspension; from then on the scope owns it.
  void spawn(Task<void> child);

  class Join;
  /// `co_await scope.join();` waits for every child, then throws the first error of any. Drains: cancelling the waiting
  /// coroutine cancels the children, and the wait goes on until they have ended.
  Join join() noexcept;

  /// Asks every wait below this scope to end with `reason`; what is in flight drains. Later waits end at once.
  void cancel(std::error_code reason = std::make_error_code(std::errc::operation_canceled)) noexcept;
  /// Why this scope was cancelled; empty while it is not.
  const std::error_code& cancelled() const noexcept { return cancelled_; }

  /// As if a child had ended with `error`.
  void fail(std::exception_ptr error) noexcept;

  std::size_t running() const noexcept { return running_; }
  /// Whether some wait of its own coroutines is under way; those of child scopes don't count.
  bool has_waits() const noexcept { return waiters_.next_ != &waiters_; }
  Scheduler& loop() const noexcept { return loop_; }
  /// The first error of a child, or null.
  const std::exception_ptr& error() const noexcept { return error_; }

  /// From now on a child's error neither cancels its siblings nor is thrown by join(): `report(error, context)` is told
  /// of it instead. For children that have nothing to do with each other.
  using Report = void (*)(const std::exception_ptr& error, void* context) noexcept;
  void isolate_children(Report report, void* context) noexcept {
    report_ = report;
    report_context_ = context;
  }

  /// Walks all waits of this scope and those below it.
  void visit(WaiterVisitor& visitor, int depth = 0) const noexcept;

 private:
  friend struct DebuggerLayout;
  friend class Waiter;
  friend class PromiseBase;

  void child_finished(PromiseBase& child) noexcept;

  Scheduler& loop_;
  ScopeLink waiters_{Alone{}};
  ScopeLink scopes_{Alone{}};
  std::size_t running_ = 0;
  Join* join_ = nullptr;
  std::error_code cancelled_;
  std::exception_ptr error_;
  Report report_ = nullptr;
  void* report_context_ = nullptr;
};

/// A scope of one coroutine (PromiseBase::Mode::noted) that need not be resumed when what it awaits has ended: that is
/// noted here. For Completion and NotedWaits.
class NotedScope : public Scope {
 public:
  void note_end() noexcept {
    done_ = true;
    if (ends_ != nullptr) ++*ends_;
  }

 protected:
  NotedScope(Scheduler& loop, Scope* parent, std::uint64_t* ends) noexcept : Scope(loop, parent), ends_(ends) {}
  ~NotedScope() = default;

  bool done_ = true;

 private:
  std::uint64_t* const ends_;
};

/// Base of every leaf awaiter: links itself into its scope's list while it waits, so that every live coroutine can be
/// cancelled, and can say what it awaits, from whom and since when. It lives in the awaiting coroutine's frame. Loop's
/// thread only.
class Waiter : public ScopeLink {
 public:
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  /// Only before the wait has begun, so that functions can return what is to be awaited.
  Waiter(Waiter&& other) noexcept : ScopeLink(), what_(other.what_), peer_(other.peer_), where_(other.where_) {
    CORACLE_ASSERT(!other.waiting(), "{} was moved while a coroutine awaits it", what_);
  }

  const char* what() const noexcept { return what_; }
  int peer() const noexcept { return peer_; }
  std::uint64_t since_ns() const noexcept { return since_ns_; }
  const std::source_location& where() const noexcept { return where_; }
  const PromiseBase* coroutine() const noexcept { return coroutine_; }
  void awaited_at(const std::source_location& where) noexcept { where_ = where; }
  /// Called in a signal handler, too: no allocation.
  virtual WaitDetail detail() const noexcept { return {}; }

 protected:
  /// `what`: a literal such as "put"; `peer`: a rank or -1.
  explicit Waiter(const char* what, int peer = -1) noexcept : what_(what), peer_(peer) {}
  ~Waiter() = default;

  /// Marks the coroutine as suspended here. False when its scope has been cancelled and `interruptible` is set: then
  /// the caller must not suspend, and outcome() tells why.
  template <class Promise>
  bool suspend(std::coroutine_handle<Promise> self, bool interruptible) noexcept {
    return suspend(self.promise(), interruptible);
  }
  bool suspend(PromiseBase& coroutine, bool interruptible) noexcept;

  /// Ends the wait and queues the coroutine. Call once, from the loop's thread.
  void complete(std::error_code outcome) noexcept {
    set_outcome(outcome);
    complete();
  }
  void complete() noexcept;

  bool waiting() const noexcept { return coroutine_ != nullptr; }
  /// Empty while it waits and after success.
  std::error_code outcome() const noexcept {
    return outcome_category_ == nullptr ? std::error_code() : std::error_code(outcome_value_, *outcome_category_);
  }
  void set_outcome(const std::error_code& outcome) noexcept {
    outcome_value_ = outcome.value();
    outcome_category_ = outcome ? &outcome.category() : nullptr;
  }
  bool failed() const noexcept { return outcome_category_ != nullptr; }
  /// Throws Error when the wait ended by cancellation or failure.
  void throw_if_failed() const {
    if (failed()) [[unlikely]]
      throw_failure();
  }

  /// The scope asks the wait to end early. Default: ignore (the wait drains by itself).
  virtual void cancel(std::error_code) noexcept {}

 private:
  friend struct DebuggerLayout;
  friend class Scope;
  [[noreturn]] void throw_failure() const;
  void tell_of_begin(Events& events) const noexcept;
  void tell_of_end(Events& events, const PromiseBase& coroutine) const noexcept;

  PromiseBase* coroutine_ = nullptr;
  const char* what_;
  int peer_;
  std::uint64_t since_ns_;  // set when the wait begins
  std::source_location where_;
  // An error_code in two parts: making an empty std::error_code costs a call, and most waits end well.
  int outcome_value_;  // only with a category
  const std::error_category* outcome_category_ = nullptr;
};

/// The awaiter of Scope::join().
class Scope::Join final : public Waiter {
 public:
  explicit Join(Scope& scope) noexcept : Waiter("children"), scope_(scope) {}
  WaitDetail detail() const noexcept override { return {WaitKind::children}; }

  bool await_ready() const noexcept { return scope_.running_ == 0; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    scope_.join_ = this;
    suspend(self, false);
  }
  void await_resume() const {
    if (scope_.error_) [[unlikely]]
      std::rethrow_exception(std::exchange(scope_.error_, nullptr));
  }

 private:
  friend class Scope;
  Scope& scope_;
};

inline Scope::Join Scope::join() noexcept {
  return Join(*this);
}

/// Waits for every child of `scope` and returns the first error (or null) instead of throwing it.
Task<std::exception_ptr> join_quietly(Scope& scope);

/// What runs in a scope of its own: see with_scope().
struct ScopeBody {
  virtual ~ScopeBody() = default;
  virtual Task<> run(Scope& scope) = 0;
};

Task<> run_in_scope(std::unique_ptr<ScopeBody> body);
Task<> run_with_services(std::unique_ptr<ScopeBody> body);

namespace detail {

template <class Body, class... Arguments>
struct ScopeBodyOf final : ScopeBody {
  ScopeBodyOf(Body of, Arguments... with) : body(std::move(of)), arguments(std::move(with)...) {}
  Task<> run(Scope& scope) override {
    return std::apply([&](Arguments&... each) { return body(scope, std::move(each)...); }, arguments);
  }
  Body body;
  std::tuple<Arguments...> arguments;
};

}  // namespace detail

/// Runs `body(scope, arguments...)` as the first child of a new scope and returns when it and everything it spawned
/// have ended. The first error cancels the rest and is rethrown here.
///
///     Task<> body(Scope& scope, Rank& self) { scope.spawn(f(self)); scope.spawn(g(self)); co_return; }
///     co_await with_scope(body, std::ref(self));
template <class Body, class... Arguments>
Task<> with_scope(Body body, Arguments... arguments) {
  // No coroutine itself: g++ 14 crashes on one that takes a type of an unnamed namespace outside the compiler's first
  // file, which is where sources are when they are compiled together.
  return run_in_scope(
      std::make_unique<detail::ScopeBodyOf<Body, Arguments...>>(std::move(body), std::move(arguments)...));
}

/// The same, but the end of `body` ends what it has spawned into the scope: services that have no end of their own. An
/// error of a service before that ends all, and is rethrown.
template <class Body, class... Arguments>
Task<> with_services(Body body, Arguments... arguments) {
  return run_with_services(
      std::make_unique<detail::ScopeBodyOf<Body, Arguments...>>(std::move(body), std::move(arguments)...));
}

}  // namespace coracle::internals
