// Completion: operations and tasks that somebody begins and ends who is no coroutine.
#include "runtime/core/completion.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"
#include "runtime/core/timer.hpp"

namespace completion_test {

using namespace coracle::internals;

namespace {

Task<int> later(Event& event, int value) {
  co_await event;
  if (value < 0) throw std::runtime_error("below 0");
  co_return value;
}

Task<int> at_once(int value) {
  co_return value;
}

}  // namespace

TEST_CASE("completion: a task that ends at once is done when it has begun") {
  EventLoop loop;
  Completion completion(loop.root_scope());
  CHECK(completion.done());
  Task<int> task = at_once(7);
  completion.begin(task);
  REQUIRE(completion.done());
  CHECK(task.await_resume() == 7);
}

TEST_CASE("completion: one after the other, with values and errors, until the loop has turned") {
  EventLoop loop;
  Completion completion(loop.root_scope());
  for (const int value : {1, -1, 2, 3}) {
    Event event;
    Task<int> task = later(event, value);
    completion.begin(task);
    CHECK_FALSE(completion.done());
    loop.turn();
    CHECK_FALSE(completion.done());
    event.set();
    loop.run_until([&] { return completion.done(); });
    if (value < 0)
      CHECK_THROWS_WITH(task.await_resume(), "below 0");
    else
      CHECK(task.await_resume() == value);
  }
}

TEST_CASE("completion: many are under way at once, and sleep until a timer is due") {
  EventLoop loop;
  constexpr int kMany = 100;
  std::vector<std::unique_ptr<Completion>> completions;
  std::vector<Task<>> tasks;
  int ended = 0;
  const auto sleeper = [](int milliseconds, int& count) -> Task<> {
    co_await sleep_for(std::chrono::milliseconds(milliseconds));
    ++count;
  };
  tasks.reserve(kMany);
  for (int i = 0; i < kMany; ++i) {
    completions.push_back(std::make_unique<Completion>(loop.root_scope()));
    tasks.push_back(sleeper(i % 5, ended));
    completions.back()->begin(tasks.back());
  }
  for (const auto& each : completions) loop.run_until([&] { return each->done(); });
  CHECK(ended == kMany);
}

TEST_CASE("completion: each end of what was under way is counted") {
  EventLoop loop;
  std::uint64_t ends = 0;
  Completion completion(loop.root_scope(), ends);
  Task<int> now = at_once(1);
  completion.begin(now);
  CHECK(ends == 0);
  for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{2}}) {
    Event event;
    Task<int> task = later(event, 1);
    completion.begin(task);
    loop.turn();
    CHECK(ends == number - 1);
    event.set();
    loop.run_until([&] { return completion.done(); });
    CHECK(ends == number);
  }
}

TEST_CASE("completion: the end of a wait is noted at once, of a task when the loop resumes it") {
  EventLoop loop;
  std::uint64_t ends = 0;
  Completion completion(loop.root_scope(), ends);
  for (std::uint64_t round = 0; round < 3; ++round) {
    Event event;
    Event::Wait wait(event);
    completion.begin(wait);
    CHECK_FALSE(completion.done());
    event.set();
    CHECK(completion.done());
    CHECK(ends == 2 * round + 1);
    wait.await_resume();

    Event other;
    Task<int> task = later(other, 3);
    completion.begin(task);
    other.set();
    CHECK_FALSE(completion.done());
    loop.run_until([&] { return completion.done(); });
    CHECK(ends == 2 * round + 2);
    CHECK(task.await_resume() == 3);
  }
  loop.turn();  // nothing is left that would resume it
  CHECK(ends == 6);
}

TEST_CASE("completion: what is cancelled ends early, and nothing beside it") {
  EventLoop loop;
  Completion cancelled(loop.root_scope());
  Completion other(loop.root_scope());
  Event never;
  Event event;
  Task<int> first = later(never, 1);
  Task<int> second = later(event, 2);
  cancelled.begin(first);
  other.begin(second);
  cancelled.cancel();
  loop.run_until([&] { return cancelled.done(); });
  CHECK_THROWS_AS(first.await_resume(), Error);
  CHECK(cancelled.is_cancelled());
  CHECK_FALSE(other.done());
  event.set();
  loop.run_until([&] { return other.done(); });
  CHECK(second.await_resume() == 2);
}

TEST_CASE("noted waits: any number at once, each of which ends by itself, in any order") {
  EventLoop loop;
  std::uint64_t ends = 0;
  NotedWaits waits(loop.root_scope(), ends);
  CHECK_FALSE(waits.any());
  constexpr std::size_t kMany = 100;
  std::vector<Event> events(kMany);
  std::vector<std::unique_ptr<Event::Wait>> each;
  for (Event& event : events) {
    each.push_back(std::make_unique<Event::Wait>(event));
    waits.begin(*each.back());
  }
  loop.turn();
  CHECK(ends == 0);
  for (std::size_t i = 0; i < kMany; ++i) {
    CHECK(waits.any());
    events[i * 37 % kMany].set();
    CHECK(ends == i + 1);
    each[i * 37 % kMany]->await_resume();
  }
  CHECK_FALSE(waits.any());
  loop.turn();  // nobody is resumed
  CHECK(ends == kMany);
}

TEST_CASE("noted waits: a cancellation ends all, and those that begin after it") {
  EventLoop loop;
  std::uint64_t ends = 0;
  NotedWaits waits(loop.root_scope(), ends);
  Event never;
  Event::Wait first(never);
  Event::Wait second(never);
  waits.begin(first);
  waits.begin(second);
  waits.cancel();
  CHECK(ends == 2);
  CHECK_FALSE(waits.any());
  CHECK_THROWS_AS(first.await_resume(), Error);
  CHECK_THROWS_AS(second.await_resume(), Error);
  Event::Wait late(never);
  waits.begin(late);
  CHECK_FALSE(waits.any());
  CHECK_THROWS_AS(late.await_resume(), Error);
}

}  // namespace completion_test
