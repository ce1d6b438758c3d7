// Scope: owns concurrent children. They never outlive it; cancellation and time limits travel down through it, the
// first error of a child cancels its siblings and travels up.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <system_error>

namespace coracle::internals {

class EventLoop;
class PromiseBase;
class Scope;
class Waiter;
template <class T>
class Task;

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

/// Use through with_scope() of "runtime/join.hpp", which joins even when the body throws. Loop's thread only.
class Scope final : private ScopeLink {
 public:
  /// A scope below `parent`; null for a loop's root.
  Scope(EventLoop& loop, Scope* parent) noexcept;
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
  EventLoop& loop() const noexcept { return loop_; }
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
  friend class Waiter;
  friend class PromiseBase;

  void child_finished(PromiseBase& child, std::exception_ptr error) noexcept;

  EventLoop& loop_;
  ScopeLink waiters_{Alone{}};
  ScopeLink scopes_{Alone{}};
  std::size_t running_ = 0;
  Join* join_ = nullptr;
  std::error_code cancelled_;
  std::exception_ptr error_;
  Report report_ = nullptr;
  void* report_context_ = nullptr;
};

}  // namespace coracle::internals
