// Many transfers at once, but not all.
#pragma once

#include <coracle/coracle.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace coracle {

namespace detail {

template <class Work>
Task<> do_next(std::size_t& next, std::size_t count, Work& work) {
  while (next < count) {
    Task<> task = work(next++);
    co_await task;
  }
}

}  // namespace detail

/// Awaits the Task<> of `work(i)` for every i below `count`, in order of their beginning, at most `limit` at a time.
/// The first error cancels the rest and is rethrown when all have ended.
template <class Work>
Task<> for_each_in_flight(std::size_t count, std::size_t limit, Work work) {
  internals::PromiseBase& self = co_await internals::this_coroutine();
  Scope scope(self.loop(), &self.scope());
  std::size_t next = 0;
  const std::size_t tasks = std::min(count, limit);
  for (std::size_t i = 0; i < tasks; ++i) scope.spawn(detail::do_next(next, count, work));
  co_await scope.join();
}

}  // namespace coracle
