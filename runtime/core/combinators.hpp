// when_all, when_any, with_timeout, as_result, caught: ways to combine tasks. None of them leaves a child behind.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/result.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

/// void becomes std::monostate, so that results can be stored.
template <class T>
using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

namespace detail {

template <class T>
Task<> store(Task<T> task, std::optional<Stored<T>>& result) {
  if constexpr (std::is_void_v<T>) {
    co_await task;
    result.emplace();
  } else {
    result.emplace(co_await task);
  }
}

template <class T>
Task<> store_first(Task<T> task, std::size_t index, std::optional<std::size_t>& winner,
                   std::optional<Stored<T>>& result, Scope& scope) {
  std::optional<Stored<T>> value;
  co_await store(std::move(task), value);
  if (winner || scope.error()) co_return;  // finished before its cancellation took hold
  winner = index;
  result = std::move(value);
  scope.cancel();
}

template <class T>
inline constexpr bool kIsTask = false;
template <class T>
inline constexpr bool kIsTask<Task<T>> = true;

/// Tells of a time limit that has passed, and of what was under way.
[[noreturn]] void throw_timed_out(std::chrono::nanoseconds limit, const std::exception_ptr& error);

/// Cancels a scope at a deadline.
class Deadline final : private Timer {
 public:
  Deadline(Scope& scope, std::chrono::nanoseconds limit) : scope_(scope) {
    const auto delay = limit.count() > 0 ? static_cast<std::uint64_t>(limit.count()) : 0;
    scope.loop().timers().arm(*this, scope.loop().exact_now_ns() + delay);
  }
  ~Deadline() { scope_.loop().timers().disarm(*this); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  bool fired() const noexcept { return fired_; }

 private:
  void fire() noexcept override {
    fired_ = true;
    scope_.cancel(std::make_error_code(std::errc::timed_out));
  }
  Scope& scope_;
  bool fired_ = false;
};

}  // namespace detail

/// Anything else that can be awaited: `self.put(...)`, `self.wait(...)`, `sleep_for(...)`.
template <class A>
concept Operationlike = !detail::kIsTask<A> && std::is_move_constructible_v<A> && requires(A& awaitable) {
  { awaitable.await_ready() } -> std::convertible_to<bool>;
  awaitable.await_resume();
};

/// An operation as a task, for when_all, when_any and whatever else takes tasks. It starts when the task does.
template <Operationlike A>
auto as_task(A operation) -> Task<std::remove_cvref_t<decltype(operation.await_resume())>> {
  co_return co_await operation;
}
template <class T>
Task<T> as_task(Task<T> task) {
  return task;
}

/// Runs all at once; a tuple of their values. The first error cancels the others, which are joined, and is rethrown.
template <class... T>
Task<std::tuple<Stored<T>...>> when_all(Task<T>... tasks) {
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  std::tuple<std::optional<Stored<T>>...> results;
  std::apply([&](auto&... result) { (scope.spawn(detail::store(std::move(tasks), result)), ...); }, results);
  co_await scope.join();
  co_return std::apply([](auto&... result) { return std::tuple<Stored<T>...>(std::move(*result)...); }, results);
}

/// Runs all at once; their values in the order of `tasks`.
template <class T>
Task<std::vector<Stored<T>>> when_all(std::vector<Task<T>> tasks) {
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  std::vector<std::optional<Stored<T>>> results(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) scope.spawn(detail::store(std::move(tasks[i]), results[i]));
  co_await scope.join();
  std::vector<Stored<T>> values;
  values.reserve(results.size());
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): all have been joined without an error
  for (auto& result : results) values.push_back(std::move(*result));
  co_return values;
}

/// The first of several tasks: its place and its value.
template <class T>
struct First {
  std::size_t index;
  Stored<T> value;
};

/// Runs all until one finishes; the losers are cancelled and joined. An error before that cancels all and is rethrown.
template <class T>
Task<First<T>> when_any(std::vector<Task<T>> tasks) {
  CORACLE_ASSERT(!tasks.empty(), "when_any of no task would never end");
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  std::optional<std::size_t> winner;
  std::optional<Stored<T>> result;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    scope.spawn(detail::store_first(std::move(tasks[i]), i, winner, result, scope));
  auto error = co_await join_quietly(scope);
  if (!winner) std::rethrow_exception(error);
  First<T> first{*winner, std::move(*result)};  // NOLINT(bugprone-unchecked-optional-access): a winner leaves both
  co_return first;
}

/// `task`, cancelled and joined when it has not finished within `limit`: then throws Error with std::errc::timed_out.
template <class T>
Task<T> with_timeout(std::chrono::nanoseconds limit, Task<T> task) {
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  detail::Deadline deadline(scope, limit);
  std::optional<Stored<T>> result;
  scope.spawn(detail::store(std::move(task), result));
  const std::exception_ptr error = co_await join_quietly(scope);
  if (error && deadline.fired()) detail::throw_timed_out(limit, error);
  if (error) std::rethrow_exception(error);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): without an error there is a result
  if constexpr (!std::is_void_v<T>) co_return std::move(*result);
}

/// True when `task` has finished within `limit`; else it has been cancelled and joined.
Task<bool> finishes_within(std::chrono::nanoseconds limit, Task<> task);

/// The outcome of `task` as a value: `Result<T> r = co_await as_result(f());` Only coracle::Error is caught.
template <class T>
Task<Result<T>> as_result(Task<T> task) {
  std::optional<Error> error;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await task;
      co_return Result<T>();
    } else {
      co_return Result<T>(co_await task);
    }
  } catch (const Error& caught) {
    error = caught;
  }
  co_return Result<T>(std::move(*error));  // NOLINT(bugprone-unchecked-optional-access): else it has returned
}

/// Waits for all; of one without the expense of a scope.
Task<> all_of(std::vector<Task<>> tasks);

/// What ends `task`, if anything does, of whatever kind: for what must be waited for or undone before it is rethrown.
Task<std::exception_ptr> caught(Task<> task);

/// Awaits what may fail because its peer is lost, which others learn of.
template <class Awaitable>
Task<> ignore_loss(Awaitable awaitable) {
  try {
    co_await awaitable;
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;
  }
}

/// when_all, with_timeout and as_result for operations: `co_await as_result(self.put(data, right))`, `co_await
/// with_timeout(1s, self.wait(...))`, `co_await when_all(self.get(...), f())`.
template <Operationlike A>
auto as_result(A operation) {
  return as_result(as_task(std::move(operation)));
}
template <Operationlike A>
auto with_timeout(std::chrono::nanoseconds limit, A operation) {
  return with_timeout(limit, as_task(std::move(operation)));
}
template <class... A>
  requires(Operationlike<A> || ...)
auto when_all(A... operations) {
  return when_all(as_task(std::move(operations))...);
}

}  // namespace coracle::internals
