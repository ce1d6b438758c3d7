// The message of a time limit that has passed, and the limit whose passing is no error.
#include "runtime/core/combinators.hpp"

#include <fmt/format.h>

#include <utility>

namespace coracle::internals {

void detail::throw_timed_out(std::chrono::nanoseconds limit, const std::exception_ptr& error) {
  std::string under_way = "something that is not a std::exception";
  try {
    std::rethrow_exception(error);
  } catch (const Error& caught) {
    if (caught.code() != std::errc::timed_out) throw;  // it failed by itself before the limit
    under_way = caught.what();
  }
  const double seconds = std::chrono::duration<double>(limit).count();
  throw Error(std::make_error_code(std::errc::timed_out),
              fmt::format("not done within the time limit of {:g} s: {}", seconds, under_way));
}

Task<bool> finishes_within(std::chrono::nanoseconds limit, Task<> task) {
  PromiseBase& self = co_await this_coroutine();
  Scope scope(self.loop(), &self.scope());
  detail::Deadline deadline(scope, limit);
  scope.spawn(std::move(task));
  try {
    co_await scope.join();
  } catch (const Error& error) {
    if (!deadline.fired() || error.code() != std::errc::timed_out) throw;
    co_return false;
  }
  co_return true;
}

Task<> all_of(std::vector<Task<>> tasks) {
  if (tasks.size() == 1)
    co_await tasks.front();
  else if (!tasks.empty())
    co_await when_all(std::move(tasks));
}

Task<std::exception_ptr> caught(Task<> task) {
  std::exception_ptr failure;
  try {
    co_await task;
  } catch (...) {
    failure = std::current_exception();
  }
  co_return failure;
}

}  // namespace coracle::internals
