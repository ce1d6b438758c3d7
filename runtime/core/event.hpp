// Event and sleeping: the waits inside one loop.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

/// A flag that coroutines of one loop await. set() wakes all; it stays set until reset().
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { CORACLE_ASSERT(first_ == nullptr, "an Event ended while a coroutine awaits it"); }

  bool is_set() const noexcept { return set_; }
  void reset() noexcept { set_ = false; }
  void set() noexcept {
    set_ = true;
    // First come, first served: the list has the latest at its head.
    Wait* longest = nullptr;
    for (Wait* wait = std::exchange(first_, nullptr); wait != nullptr;) {
      Wait* next = std::exchange(wait->next_, longest);
      longest = wait;
      wait = next;
    }
    while (longest != nullptr) {
      Wait* next = longest->next_;
      longest->complete();
      longest = next;
    }
  }

  class [[nodiscard]] Wait final : public Waiter {
   public:
    explicit Wait(Event& event, bool interruptible = true) noexcept
        : Waiter("event"), event_(event), interruptible_(interruptible) {}
    bool await_ready() const noexcept { return event_.set_; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
      if (!suspend(self, interruptible_)) return false;
      next_ = std::exchange(event_.first_, this);
      return true;
    }
    void await_resume() const { throw_if_failed(); }

   private:
    friend class Event;
    void cancel(std::error_code reason) noexcept override {
      if (!interruptible_) return;
      Wait** link = &event_.first_;
      while (*link != this) link = &(*link)->next_;
      *link = next_;
      complete(reason);
    }
    Event& event_;
    bool interruptible_;
    Wait* next_ = nullptr;
  };

  /// `co_await event;`
  Wait wait_at(const std::source_location& where) noexcept {
    Wait wait(*this);
    wait.awaited_at(where);
    return wait;
  }

 private:
  Wait* first_ = nullptr;
  bool set_ = false;
};

/// `co_await uninterrupted(event);` — cancellation does not end this wait: for events that will surely be set.
inline Event::Wait uninterrupted(Event& event) noexcept {
  return Event::Wait(event, false);
}

/// `co_await sleep_for(5ms);` — virtual time in `sim`.
class [[nodiscard]] sleep_for final : public Waiter, private Timer {
 public:
  explicit sleep_for(std::chrono::nanoseconds duration) noexcept : Waiter("timer"), duration_(duration) {}
  WaitDetail detail() const noexcept override { return {WaitKind::timer}; }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) {
    if (!suspend(self, true)) return false;
    loop_ = &self.promise().loop();
    const auto delay = duration_.count() > 0 ? static_cast<std::uint64_t>(duration_.count()) : 0;
    loop_->timers().arm(*this, loop_->exact_now_ns() + delay);
    return true;
  }
  void await_resume() const { throw_if_failed(); }

 private:
  void fire() noexcept override { complete(); }
  void cancel(std::error_code reason) noexcept override {
    loop_->timers().disarm(*this);
    complete(reason);
  }
  std::chrono::nanoseconds duration_;
  Scheduler* loop_ = nullptr;
};

/// `co_await yield();` — lets the pollers and the other ready coroutines run once. Throws when the scope was cancelled.
class [[nodiscard]] yield {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    scope_ = &self.promise().scope();
    self.promise().loop().ready(self);
  }
  void await_resume() const {
    if (scope_->cancelled()) [[unlikely]]
      throw_cancelled();
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void throw_cancelled() const {
    throw Error::of_operation(scope_->cancelled(), "yield", -1, -1, "");
  }
  Scope* scope_ = nullptr;
};

/// As yield(), but goes on when the scope was cancelled: for what must be brought to its end.
class [[nodiscard]] turn {
 public:
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self) noexcept {
    self.promise().loop().ready(self);
  }
  void await_resume() const noexcept {}
};

}  // namespace coracle::internals
