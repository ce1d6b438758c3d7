// when_all, when_any, time limits and results.
#include "runtime/core/combinators.hpp"

#include <doctest/doctest.h>

#include "runtime/core/event_loop.hpp"

namespace combinators_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

Task<int> value_after(int turns, int value) {
  for (int i = 0; i < turns; ++i) co_await yield();
  co_return value;
}
Task<> note_end(int& ended) {
  struct Guard {
    int& ended;
    ~Guard() { ++ended; }
  } guard{ended};
  co_await sleep_for(1h);
}
Task<int> never(int& ended) {
  co_await note_end(ended);
  co_return -1;
}
Task<int> failing() {
  co_await yield();
  throw Error(Errc::unsupported, "no such thing");
}

Task<> all_of_three(int& sum) {
  auto results = co_await when_all(value_after(3, 1), value_after(0, 10), value_after(1, 100));
  sum = std::get<0>(results) + std::get<1>(results) + std::get<2>(results);
}
Task<> all_of_many(std::vector<int>& values) {
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 50; ++i) tasks.push_back(value_after(i % 5, i));
  values = co_await when_all(std::move(tasks));
}
Task<> any_of(std::vector<Task<int>> tasks, std::size_t& index, int& value) {
  auto first = co_await when_any(std::move(tasks));
  index = first.index;
  value = first.value;
}
Task<> limited(Task<int> task, std::chrono::nanoseconds limit, int& value) {
  value = co_await with_timeout(limit, std::move(task));
}
Task<> ask(Task<int> task, std::error_code& code) {
  auto result = co_await as_result(std::move(task));
  code = result.code();
}

}  // namespace

namespace {

Task<> ask_within(Task<> task, std::chrono::nanoseconds limit, bool& finished) {
  finished = co_await finishes_within(limit, std::move(task));
}
Task<> fail_later() {
  co_await failing();
}

}  // namespace

TEST_CASE("finishes_within: a limit that passes is no error, and the task has ended then") {
  EventLoop loop;
  int ended = 0;
  bool finished = true;
  loop.run(ask_within(note_end(ended), 1ms, finished));
  CHECK_FALSE(finished);
  CHECK(ended == 1);
  loop.run(ask_within(as_task(sleep_for(1ms)), 1h, finished));
  CHECK(finished);
  CHECK_THROWS_WITH(loop.run(ask_within(fail_later(), 1h, finished)), "no such thing");
}

TEST_CASE("when_all: gives the values in order, of tasks that end in any order") {
  EventLoop loop;
  int sum = 0;
  loop.run(all_of_three(sum));
  CHECK(sum == 111);
  std::vector<int> values;
  loop.run(all_of_many(values));
  REQUIRE(values.size() == 50);
  for (int i = 0; i < 50; ++i) CHECK(values[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("when_any: the losers are cancelled and joined before it returns") {
  EventLoop loop;
  int ended = 0;
  std::vector<Task<int>> tasks;
  tasks.push_back(never(ended));
  tasks.push_back(value_after(5, 42));
  tasks.push_back(never(ended));
  std::size_t index = 99;
  int value = 0;
  loop.run(any_of(std::move(tasks), index, value));
  CHECK(index == 1);
  CHECK(value == 42);
  CHECK(ended == 2);
}

TEST_CASE("when_any: an error cancels the others and is rethrown") {
  EventLoop loop;
  int ended = 0;
  std::vector<Task<int>> tasks;
  tasks.push_back(never(ended));
  tasks.push_back(failing());
  std::size_t index = 99;
  int value = 0;
  CHECK_THROWS_WITH(loop.run(any_of(std::move(tasks), index, value)), "no such thing");
  CHECK(ended == 1);
}

TEST_CASE("with_timeout: a late task is cancelled, joined and reported; a timely one is not") {
  EventLoop loop;
  int ended = 0;
  int value = 0;
  try {
    loop.run(limited(never(ended), 2ms, value));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == std::errc::timed_out);
  }
  CHECK(ended == 1);
  loop.run(limited(value_after(3, 5), 1h, value));
  CHECK(value == 5);
  CHECK(loop.timers().empty());
}

TEST_CASE("as_result: an error becomes a value") {
  EventLoop loop;
  std::error_code code;
  loop.run(ask(failing(), code));
  CHECK(code.category() == coracle_category());
  loop.run(ask(value_after(1, 1), code));
  CHECK(!code);
}

}  // namespace combinators_test
