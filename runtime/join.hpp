// The awaiter of Scope::join() and with_scope(), the way to use a scope.
#pragma once

#include <utility>

#include "runtime/waiter.hpp"

namespace coracle::internals {

class Scope::Join final : public Waiter {
 public:
  explicit Join(Scope& scope) noexcept : Waiter("children"), scope_(scope) {}

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
inline Task<std::exception_ptr> join_quietly(Scope& scope) {
  std::exception_ptr error;
  try {
    co_await scope.join();
  } catch (...) {
    error = std::current_exception();
  }
  co_return error;
}

/// Runs `body(scope, arguments...)` as the first child of a new scope and returns when it and everything it spawned
/// have ended. The first error cancels the rest and is rethrown here.
///
///     Task<> body(Scope& scope, Rank& self) { scope.spawn(f(self)); scope.spawn(g(self)); co_return; }
///     co_await with_scope(body, std::ref(self));
template <class Body, class... Arguments>
Task<> with_scope(Body body, Arguments... arguments) {
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  scope.spawn(body(scope, std::move(arguments)...));
  co_await scope.join();
}

}  // namespace coracle::internals
