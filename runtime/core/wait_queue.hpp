// WaitQueue and QueuedWait: coroutines of one loop that wait for their turn at something, first come, first served.
// What Mutex, Semaphore, Condition and Channel have in common.
#pragma once

#include <cstddef>
#include <source_location>

#include "runtime/core/scope.hpp"

namespace coracle::internals {

class WaitQueue;

/// A wait in a queue. It lives in the awaiting coroutine's frame, so that waiting allocates nothing.
///
/// It ends in two steps. WaitQueue::grant() takes it out of the queue and has its coroutine resumed; what it was
/// granted becomes its own only when the coroutine runs, in keeps(). One whose scope has been cancelled between the two
/// must give it to the next in the queue: so nothing is lost to a waiter that fails, or whose result nobody takes
/// (when_any).
class QueuedWait : public Waiter {
 public:
  QueuedWait(QueuedWait&&) noexcept = default;
  /// Always by way of await_suspend: a coroutine that has been cancelled takes nothing, also where there is something.
  bool await_ready() const noexcept { return false; }

  void awaited_at(const std::source_location& where) noexcept {
    if (!is_placed_) Waiter::awaited_at(where);
  }
  /// For waits inside the library's own coroutines: reports name this place, the user's.
  void place_at(const std::source_location& where) noexcept {
    Waiter::awaited_at(where);
    is_placed_ = true;
  }

 protected:
  explicit QueuedWait(WaitQueue& queue, bool interruptible = true) noexcept;
  ~QueuedWait() = default;

  /// For await_suspend. `at_once`: it need not wait, and has what it wanted. False when the coroutine goes on at once.
  bool begin(PromiseBase& coroutine, bool at_once) noexcept;
  /// For await_resume, once: whether this wait has been granted what it wanted.
  bool granted() const noexcept { return granted_; }
  /// For await_resume, once: whether it has, and its coroutine may keep it. If not, the caller gives back what was
  /// granted(), and throws by throw_if_failed().
  bool keeps() noexcept;

 private:
  friend class WaitQueue;
  void cancel(std::error_code reason) noexcept override;

  WaitQueue* queue_;
  QueuedWait* before_ = nullptr;
  QueuedWait* behind_ = nullptr;
  Scope* scope_ = nullptr;
  bool interruptible_;
  bool is_placed_ = false;
  bool granted_ = false;
  bool counted_ = false;  // among the queue's waits that have not been resumed
};

/// First in, first out. Loop's thread only.
class WaitQueue {
 public:
  /// `what`: a literal that hang reports and errors say for its waits.
  explicit WaitQueue(const char* what) noexcept : what_(what) {}
  WaitQueue(const WaitQueue&) = delete;
  WaitQueue& operator=(const WaitQueue&) = delete;
  ~WaitQueue() {
    CORACLE_ASSERT(unsettled_ == 0, "'{}' ended while {} coroutines await it: join them before", what_, unsettled_);
  }

  const char* what() const noexcept { return what_; }
  bool empty() const noexcept { return first_ == nullptr; }
  /// Who waits longest; only when not empty.
  QueuedWait& front() const noexcept { return *first_; }
  /// The front gets what it waits for. Its coroutine runs later, never inside this call.
  void grant() noexcept {
    QueuedWait& wait = *first_;
    remove(wait);
    wait.granted_ = true;
    wait.complete();
  }

 private:
  friend class QueuedWait;
  void push(QueuedWait& wait) noexcept {
    wait.before_ = last_;
    wait.behind_ = nullptr;
    (last_ == nullptr ? first_ : last_->behind_) = &wait;
    last_ = &wait;
  }
  void remove(QueuedWait& wait) noexcept {
    (wait.before_ == nullptr ? first_ : wait.before_->behind_) = wait.behind_;
    (wait.behind_ == nullptr ? last_ : wait.behind_->before_) = wait.before_;
  }

  const char* what_;
  QueuedWait* first_ = nullptr;
  QueuedWait* last_ = nullptr;
  std::size_t unsettled_ = 0;  // waits that have begun and whose coroutines have not been resumed yet
};

inline QueuedWait::QueuedWait(WaitQueue& queue, bool interruptible) noexcept
    : Waiter(queue.what()), queue_(&queue), interruptible_(interruptible) {}

inline bool QueuedWait::begin(PromiseBase& coroutine, bool at_once) noexcept {
  scope_ = &coroutine.scope();
  if (at_once) {
    if (interruptible_ && scope_->cancelled())
      set_outcome(scope_->cancelled());
    else
      granted_ = true;
    return false;
  }
  if (!suspend(coroutine, interruptible_)) return false;
  queue_->push(*this);
  ++queue_->unsettled_;
  counted_ = true;
  return true;
}

inline bool QueuedWait::keeps() noexcept {
  if (counted_) {
    counted_ = false;
    --queue_->unsettled_;
  }
  if (!granted_) return false;
  if (!interruptible_ || !scope_->cancelled()) return true;
  set_outcome(scope_->cancelled());
  return false;
}

inline void QueuedWait::cancel(std::error_code reason) noexcept {
  if (!interruptible_) return;
  queue_->remove(*this);
  complete(reason);
}

}  // namespace coracle::internals
