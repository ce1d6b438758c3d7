// Completion and NotedWaits: they await for somebody who is no coroutine, such as the request of an interface of
// functions. Each has one coroutine, made once; beginning an operation and noting its end allocate nothing.
#pragma once

#include <coroutine>
#include <cstdint>
#include <system_error>
#include <type_traits>

#include "runtime/core/assert.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals {

/// A scope whose one coroutine stays suspended, as what is awaited sees it.
class ParkedScope : protected NotedScope {
 protected:
  using Parked = std::coroutine_handle<Task<>::promise_type>;

  ParkedScope(Scope& parent, std::uint64_t* ends) : NotedScope(parent.loop(), &parent, ends) {
    spawn(serve(*this));
    parked_.promise().mode_ = PromiseBase::Mode::noted;
  }
  ~ParkedScope() {
    ending_ = true;
    parked_.promise().mode_ = PromiseBase::Mode::spawned;
    parked_.resume();
  }

  Parked parked() const noexcept { return parked_; }

 private:
  struct Park {
    ParkedScope& owner;
    bool await_ready() const noexcept { return false; }
    void await_suspend(Parked self) const noexcept { owner.parked_ = self; }
    void await_resume() const noexcept {}
  };
  static Task<> serve(ParkedScope& self) {
    while (!self.ending_) {
      co_await Park{self};
      self.note_end();
    }
  }

  Parked parked_;
  bool ending_ = false;
};

/// Awaits operations and tasks one after the other. Loop's thread only. What is awaited lives with the owner, and must
/// not move while it is under way.
///
/// Of a wait the end is noted as soon as it is there; the coroutine is resumed only by tasks.
class Completion : private ParkedScope {
 public:
  /// Below `parent`, which must outlive it.
  explicit Completion(Scope& parent) : Completion(parent, nullptr) {}
  /// The same, and `ends` is one more with each end of what has been under way: so that whoever waits for any of many
  /// need not look at all as long as it stays the same. It must outlive this.
  Completion(Scope& parent, std::uint64_t& ends) : Completion(parent, &ends) {}
  /// Nothing may be under way.
  ~Completion() { CORACLE_ASSERT(done_, "a completion ended while what it awaits is under way"); }

  /// Begins `awaitable`, which must live until done(). Whoever sees done() calls its await_resume(), for its value or
  /// error. Throws what beginning it throws.
  template <class Awaitable>
  void begin(Awaitable& awaitable) {
    if (!awaitable.await_ready()) suspend(awaitable);
  }
  /// The second half of begin(): of what has said that it is not ready.
  template <class Awaitable>
  void suspend(Awaitable& awaitable) {
    CORACLE_ASSERT(done_, "one thing at a time is awaited");
    done_ = false;
    try {
      if constexpr (std::is_void_v<decltype(awaitable.await_suspend(parked()))>)
        awaitable.await_suspend(parked());
      else if (!awaitable.await_suspend(parked()))  // else it may have ended by now
        done_ = true;
    } catch (...) {
      done_ = true;
      throw;
    }
  }
  /// True also before anything has begun.
  bool done() const noexcept { return done_; }

  /// Asks what is under way to end early. After that only its end can be awaited: nothing else may begin.
  void cancel(std::error_code reason = std::make_error_code(std::errc::operation_canceled)) noexcept {
    Scope::cancel(reason);
  }
  /// Shows what is under way.
  void visit(WaiterVisitor& visitor) const noexcept { Scope::visit(visitor); }
  bool is_cancelled() const noexcept { return static_cast<bool>(cancelled()); }

 private:
  Completion(Scope& parent, std::uint64_t* ends) : ParkedScope(parent, ends) {}
};

/// Any number of waits at once, each of which tells itself whether it has ended: no tasks. For what comes by the
/// hundred: a wait costs no completion of its own. Loop's thread only.
class NotedWaits : private ParkedScope {
 public:
  /// As Completion's.
  NotedWaits(Scope& parent, std::uint64_t& ends) : ParkedScope(parent, &ends) {}

  /// Nothing may be under way.
  ~NotedWaits() { CORACLE_ASSERT(!any(), "waits that are noted have lost whom they tell of their ends"); }

  bool any() const noexcept { return has_waits(); }
  /// Begins one that has said that it is not ready. It must live until it has ended.
  template <class Wait>
    requires std::is_base_of_v<Waiter, Wait>
  void begin(Wait& wait) {
    wait.await_suspend(parked());
  }
  /// Asks all to end early; later ones end at once.
  void cancel() noexcept { Scope::cancel(std::make_error_code(std::errc::operation_canceled)); }
  /// Shows what is under way.
  void visit(WaiterVisitor& visitor) const noexcept { Scope::visit(visitor); }
};

}  // namespace coracle::internals
