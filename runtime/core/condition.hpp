// Condition: coroutines of one rank wait until something that others change is as they want it.
#pragma once

#include <concepts>
#include <source_location>

#include "runtime/core/mutex.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {

/// Between two awaits nobody else of the rank runs, so that mostly no Mutex is needed:
///
///     co_await changed.wait([&] { return !jobs.empty(); });   // elsewhere: jobs.push_back(job); changed.notify_one();
///
/// Whoever changes what is waited for must notify; it is not stored. (An Event is: it stays set.) Waiters are woken in
/// the order of their coming. One that is cancelled while a notify_one() wakes it hands that on to the next. Loop's
/// thread only.
class Condition {
 public:
  /// `what`: a literal that hang reports and errors say for it.
  explicit Condition(const char* what = "condition") noexcept : waits_(what) {}
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  ~Condition() = default;  // with waits it would be a mistake, which WaitQueue finds

  /// Wakes the one who waits longest, if anybody waits; or all who wait now. They run later, not inside this call.
  void notify_one() noexcept {
    if (!waits_.empty()) grant(true);
  }
  void notify_all() noexcept {
    while (!waits_.empty()) grant(false);
  }

  class Wait;
  /// `co_await condition.wait();` until the next notification.
  Wait wait() noexcept;
  /// Until `ready()` is true, which is asked at once, and again after each notification.
  template <std::predicate Ready>
  Task<> wait(Ready ready, std::source_location where = std::source_location::current());
  /// Lets `lock` go while it waits. When it returns, or throws, `lock` holds its mutex again, also after a
  /// cancellation. `lock` must live until then.
  Task<> wait(Mutex::Lock& lock, std::source_location where = std::source_location::current());
  template <std::predicate Ready>
  Task<> wait(Mutex::Lock& lock, Ready ready, std::source_location where = std::source_location::current());

 private:
  void grant(bool to_one) noexcept;

  WaitQueue waits_;
};

class [[nodiscard]] Condition::Wait final : public QueuedWait {
 public:
  explicit Wait(Condition& condition) noexcept : QueuedWait(condition.waits_), condition_(condition) {}

  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    return begin(self.promise(), false);
  }
  void await_resume() {
    if (keeps()) return;
    if (granted() && alone_) condition_.notify_one();
    throw_if_failed();
  }

 private:
  friend class Condition;
  Condition& condition_;
  bool alone_ = false;  // woken by notify_one()
};

inline void Condition::grant(bool to_one) noexcept {
  static_cast<Wait&>(waits_.front()).alone_ = to_one;
  waits_.grant();
}

inline Condition::Wait Condition::wait() noexcept {
  return Wait(*this);
}

template <std::predicate Ready>
Task<> Condition::wait(Ready ready, std::source_location where) {
  while (!ready()) {
    Wait changed(*this);
    changed.place_at(where);
    co_await changed;
  }
}

template <std::predicate Ready>
Task<> Condition::wait(Mutex::Lock& lock, Ready ready, std::source_location where) {
  while (!ready()) co_await wait(lock, where);
}

}  // namespace coracle::internals
