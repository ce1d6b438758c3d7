// Started: a task that runs already and is awaited later, such as a collective behind which something is computed:
//
//     Started<> row = start(self, team.broadcast(next_row, root));
//     compute(this_row);
//     co_await row.done();
#pragma once

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "runtime/core/combinators.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

class Rank;
class StartedWait;

/// For the library: what a handle and its task share. Loop's thread only.
class StartedState {
 public:
  /// `owner`: is cancelled together with the task.
  explicit StartedState(Scope& owner) noexcept : owner_(owner), scope_(owner.loop(), &owner) {}
  StartedState(const StartedState&) = delete;
  StartedState& operator=(const StartedState&) = delete;

  void run(Task<void> task) { scope_.spawn(std::move(task)); }
  bool finished() const noexcept { return finished_; }
  /// Said by the task itself, as the last thing it does.
  void finish(std::exception_ptr error) noexcept;
  /// The error, which is nobody's after that.
  std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }

  /// The owner joins the task of `state`, too, and gets an error that the handle has not thrown.
  static void share_with_owner(const std::shared_ptr<StartedState>& state);
  /// The handle dies. `rank`: who tells of an error that nobody took; null: the owner takes it.
  void let_go(const Rank* rank) noexcept;

 private:
  friend class StartedWait;
  static Task<> hold(std::shared_ptr<StartedState> state);

  Scope& owner_;
  Scope scope_;
  std::exception_ptr error_;
  StartedWait* waiting_ = nullptr;
  bool finished_ = false;
  bool held_ = false;    // by a child of the owner
  bool let_go_ = false;  // by the handle
};

/// Awaiting a started task is like awaiting the task itself: a cancellation is passed on to it, and the wait goes on
/// until it has ended.
class StartedWait : public Waiter {
 public:
  explicit StartedWait(StartedState& state) noexcept : Waiter("started task"), state_(state) {}
  WaitDetail detail() const noexcept override { return {WaitKind::children}; }
  bool await_ready() const noexcept { return state_.finished_; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    begin(self.promise());
  }

 protected:
  StartedWait(StartedWait&&) noexcept = default;
  ~StartedWait() = default;
  void rethrow_error() const {
    if (std::exception_ptr error = state_.take_error()) [[unlikely]]
      std::rethrow_exception(error);
  }

 private:
  friend class StartedState;
  void begin(PromiseBase& coroutine) noexcept;
  void cancel(std::error_code reason) noexcept override { state_.scope_.cancel(reason); }

  StartedState& state_;
};

/// The handle of a task that start() has started. Must be awaited before it dies, unless the task has finished or was
/// started in a scope. What the task refers to (buffers, the team) must live until it has ended.
///
/// An error is thrown by done(), once. Of a handle that dies with an error it goes to the scope that the task was
/// started in (as from any child), or, without one, is told on standard error.
template <class T = void>
class [[nodiscard]] Started {
  struct State final : StartedState {
    using StartedState::StartedState;
    std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value;
  };

 public:
  /// For start(). `rank`: null when a scope owns the task.
  Started(Scope& owner, const Rank* rank, Task<T> task) : state_(std::make_shared<State>(owner)), rank_(rank) {
    state_->run(run(std::move(task), *state_));
    if (rank == nullptr) StartedState::share_with_owner(state_);
  }
  Started(Started&&) noexcept = default;
  Started& operator=(Started&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    state_ = std::move(other.state_);
    rank_ = other.rank_;
    return *this;
  }
  ~Started() { let_go(); }

  bool finished() const noexcept { return state_->finished(); }

  class [[nodiscard]] Done final : public StartedWait {
   public:
    explicit Done(Started& started) noexcept : StartedWait(*started.state_), state_(*started.state_) {}
    T await_resume() const {
      rethrow_error();
      if constexpr (!std::is_void_v<T>) {
        CORACLE_ASSERT(state_.value, "the value of a started task was taken twice");
        T value = std::move(*state_.value);
        state_.value.reset();
        return value;
      }
    }

   private:
    State& state_;
  };
  /// `co_await started.done()` waits for the task's end and gives its value (once) or throws its error (once).
  Done done() noexcept { return Done(*this); }

 private:
  static Task<> run(Task<T> task, State& state) {
    std::exception_ptr error;
    try {
      if constexpr (std::is_void_v<T>)
        co_await task;
      else
        state.value.emplace(co_await task);
    } catch (...) {
      error = std::current_exception();
    }
    state.finish(std::move(error));
  }
  void let_go() noexcept {
    if (state_) state_->let_go(rank_);
  }

  std::shared_ptr<State> state_;
  const Rank* rank_;
};

/// For start(): the scope of everything that a rank's program does.
Scope& scope_of_program(Rank& rank) noexcept;

/// Starts `task` at once, up to its first suspension, on the rank's loop: a collective takes its place in the team's
/// order here.
template <class T>
Started<T> start(Rank& rank, Task<T> task) {
  return Started<T>(scope_of_program(rank), &rank, std::move(task));
}
/// The same for a child of `scope`, which waits for it in join() and cancels it with its other children. The handle may
/// die at any time before the scope does.
template <class T>
Started<T> start(Scope& scope, Task<T> task) {
  return Started<T>(scope, nullptr, std::move(task));
}
/// Operations, such as `team.send(...)`, too.
template <Operationlike A>
auto start(Rank& rank, A operation) {
  return start(rank, as_task(std::move(operation)));
}
template <Operationlike A>
auto start(Scope& scope, A operation) {
  return start(scope, as_task(std::move(operation)));
}

}  // namespace coracle::internals
