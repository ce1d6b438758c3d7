// Task<T>: a lazy coroutine. It starts when awaited (or spawned into a Scope), runs on the loop of whoever awaits it,
// and inherits that one's scope, so that cancellation travels down and errors travel up.
//
// Symmetric transfer is not used: g++ 12 turns it into a real call at -O1 and under sanitizers, so a million ready
// tasks in a row would overflow the stack. Instead a child is started by a plain nested call; one that finishes at once
// never suspends its parent, and one that finishes later hands the parent to the loop's trampoline
// (Scheduler::resume_next).
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "runtime/core/assert.hpp"
#include "runtime/core/frame_pool.hpp"
#include "runtime/core/scheduler.hpp"

namespace coracle::internals {

class Scope;
template <class T>
class Task;

/// Awaits `awaitable` in place. (A reference returned from await_transform itself makes g++ 12 copy what it refers to.)
template <class Awaitable>
struct AwaitReference {
  Awaitable& awaitable;
  bool await_ready() const noexcept { return awaitable.await_ready(); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> self) const {
    return awaitable.await_suspend(self);
  }
  decltype(auto) await_resume() const { return awaitable.await_resume(); }
};

/// What every coroutine of the library knows of itself: its loop, its scope, who awaits it and where.
class PromiseBase {
 public:
  static void* operator new(std::size_t bytes) { return FramePool::allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { FramePool::release(frame, bytes); }

  Scheduler& loop() const noexcept { return *loop_; }
  /// Also of what may be no promise at all.
  bool belongs_to(const Scheduler& loop) const noexcept { return loop_ == &loop; }
  Scope& scope() const noexcept { return *scope_; }
  /// The coroutine that awaits this one; null for one spawned into a scope.
  PromiseBase* parent() const noexcept { return parent_; }
  /// Of a task that tools are told of: the outermost coroutine that awaits this one.
  std::uint64_t task() const noexcept {
    const PromiseBase* outermost = this;
    while (outermost->parent_ != nullptr) outermost = outermost->parent_;
    return reinterpret_cast<std::uint64_t>(outermost);
  }
  /// Where the parent awaits this one (line 0: not known).
  const std::source_location& awaited_at() const noexcept { return awaited_at_; }
  bool is_noted() const noexcept { return mode_ == Mode::noted; }
  /// Whether its parent has started it and not suspended since.
  bool nested() const noexcept { return mode_ == Mode::nested; }
  std::coroutine_handle<PromiseBase> handle() noexcept {
    return std::coroutine_handle<PromiseBase>::from_promise(*this);
  }

  std::suspend_always initial_suspend() const noexcept { return {}; }

  /// Records the place of the await in whatever wants to know it (tasks, operations), then awaits it where it stands.
  template <class Awaitable>
  auto await_transform(Awaitable&& awaitable, std::source_location where = std::source_location::current()) noexcept {
    if constexpr (requires { awaitable.wait_at(where); }) {
      return awaitable.wait_at(where);
    } else {
      if constexpr (requires { awaitable.awaited_at(where); }) awaitable.awaited_at(where);
      return AwaitReference<std::remove_reference_t<Awaitable>>{awaitable};
    }
  }

 protected:
  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      PromiseBase& promise = self.promise();
      if (promise.mode_ != Mode::nested) promise.finished_later();
    }
    void await_resume() const noexcept {}
  };

 private:
  friend struct DebuggerLayout;
  friend class Scope;
  friend class ParkedScope;
  template <class T>
  friend class Task;
  template <class T>
  friend class TaskPromise;

  enum class Mode : unsigned char {
    nested,   // started by a call from its parent that has not returned yet
    awaited,  // its parent is suspended and must be resumed
    spawned,  // owned by its scope
    noted,    // the same, of a ParkedScope, which is told of the ends of its waits and need not be resumed for them
  };

  /// Starts under `parent`; true when the parent must suspend.
  bool start_under(PromiseBase& parent) {
    parent_ = &parent;
    loop_ = parent.loop_;
    scope_ = parent.scope_;
    mode_ = Mode::nested;
    if (!loop_->start(handle())) [[unlikely]] {
      mode_ = Mode::awaited;  // too deep for another nested call: the loop will start it
      return true;
    }
    if (handle().done()) return false;
    mode_ = Mode::awaited;
    return true;
  }

  void finished_later() noexcept;

  // Set when the coroutine is started, and read by nobody before.
  PromiseBase* parent_;
  Scheduler* loop_;
  Scope* scope_;
  std::source_location awaited_at_;
  Mode mode_;

 protected:
  std::exception_ptr error_;
};

template <class T>
class TaskPromise final : public PromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() {
    if (error_) [[unlikely]]
      std::rethrow_exception(error_);
    return std::move(*value_);  // NOLINT(bugprone-unchecked-optional-access): no error, so there is a value
  }

 private:
  std::optional<T> value_;
};

template <>
class TaskPromise<void> final : public PromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  void return_void() const noexcept {}
  void take() const {
    if (error_) [[unlikely]]
      std::rethrow_exception(error_);
  }
};

/// A lazy coroutine that yields a T (by value). Owner: this object, until it is awaited to its end or spawned. Await it
/// at most once, from a coroutine of the same loop. Errors: whatever the coroutine throws is rethrown at the await.
template <class T = void>
class [[nodiscard("a Task does nothing until it is awaited or spawned")]] Task {
 public:
  using promise_type = TaskPromise<T>;
  using value_type = T;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() { reset(); }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
    requires std::is_base_of_v<PromiseBase, Promise>
  bool await_suspend(std::coroutine_handle<Promise> parent) {
    static_assert(alignof(promise_type) <= 16, "a Task's value may be aligned to at most 16 bytes");
    CORACLE_ASSERT(handle_, "an empty Task was awaited");
    return handle_.promise().start_under(parent.promise());
  }
  T await_resume() { return handle_.promise().take(); }

  void awaited_at(const std::source_location& where) noexcept {
    if (handle_) handle_.promise().awaited_at_ = where;
  }

  /// Gives the coroutine to the caller, who must destroy it. For schedulers.
  Handle release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  friend promise_type;
  explicit Task(Handle handle) noexcept : handle_(handle) {}
  void reset() noexcept {
    if (handle_) handle_.destroy();
  }

  Handle handle_;
};

template <class T>
Task<T> TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

/// `PromiseBase& self = co_await this_coroutine();` — the awaiting coroutine's own promise; never suspends.
struct this_coroutine {
  PromiseBase* promise = nullptr;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    promise = &self.promise();
    return false;
  }
  PromiseBase& await_resume() const noexcept { return *promise; }
};

}  // namespace coracle::internals
