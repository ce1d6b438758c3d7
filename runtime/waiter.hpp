// Waiter: one suspended await of something that is elsewhere. It links itself into its scope's list while it waits, so
// that every live coroutine can be cancelled, and can say what it awaits, from whom and since when.
#pragma once

#include <coroutine>
#include <cstdint>
#include <source_location>
#include <system_error>

#include "runtime/scope.hpp"
#include "runtime/task.hpp"

namespace coracle::internals {

/// Base of every leaf awaiter. It lives in the awaiting coroutine's frame. Loop's thread only.
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
  friend class Scope;
  [[noreturn]] void throw_failure() const;

  PromiseBase* coroutine_ = nullptr;
  const char* what_;
  int peer_;
  std::uint64_t since_ns_;  // set when the wait begins
  std::source_location where_;
  // An error_code in two parts: making an empty std::error_code costs a call, and most waits end well.
  int outcome_value_;  // only with a category
  const std::error_category* outcome_category_ = nullptr;
};

}  // namespace coracle::internals
