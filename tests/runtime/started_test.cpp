// Handles of tasks that run already: values, errors, cancellation, and what happens to those that nobody awaits.
#include "runtime/rank/started.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"
#include "tests/runtime/loop_of.hpp"
#include "tests/sim/job.hpp"

namespace started_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

Task<std::string> text_after(int turns, std::string text) {
  for (int i = 0; i < turns; ++i) co_await yield();
  co_return text;
}
Task<> fail_after(int turns) {
  for (int i = 0; i < turns; ++i) co_await yield();
  throw Error(Errc::unsupported, "no such thing");
}
Task<> note_end(Event& event, std::error_code& outcome) {
  try {
    co_await event;
  } catch (const Error& error) {
    outcome = error.code();
    throw;
  }
}
Task<> append(std::vector<int>& order, int value) {
  order.push_back(value);
  co_await yield();
  order.push_back(value + 10);
}

Task<> take_values(Scope& scope, std::vector<std::string>& texts, bool& finished) {
  Started<std::string> early = start(scope, text_after(0, "early"));
  Started<std::string> late = start(scope, text_after(5, "late"));
  finished = early.finished() && !late.finished();
  texts.push_back(co_await late.done());
  texts.push_back(co_await early.done());
}
Task<> start_in_order(Scope& scope, std::vector<int>& order) {
  Started<> first = start(scope, append(order, 1));
  Started<> second = start(scope, append(order, 2));
  order.push_back(3);
  co_await second.done();
  co_await first.done();
  co_await first.done();  // without a value this may be asked again
}
Task<> catch_error(Scope& scope, int turns, std::vector<std::string>& texts) {
  Started<> failing = start(scope, fail_after(turns));
  for (int tries = 0; tries < 2; ++tries) {
    try {
      co_await failing.done();
      texts.emplace_back("nothing");
    } catch (const Error& error) {
      texts.emplace_back(error.what());
    }
  }
}
Task<> let_error_go(Scope& scope, int turns, int turns_alive) {
  Started<> failing = start(scope, fail_after(turns));
  for (int i = 0; i < turns_alive; ++i) co_await yield();
}
Task<> outlive_handle(Scope& scope, std::vector<int>& order) {
  static_cast<void>(start(scope, append(order, 1)));
  co_return;
}
Task<> await_with_limit(Scope& scope, Event& event, std::error_code& inner, std::error_code& outer) {
  Started<> waiting = start(scope, note_end(event, inner));
  try {
    co_await with_timeout(1ms, waiting.done());
  } catch (const Error& error) {
    outer = error.code();
  }
}
Task<> cancel_owner(Scope& scope, Event& event, std::error_code& outcome) {
  Started<> waiting = start(scope, note_end(event, outcome));
  co_await yield();
  scope.cancel(std::make_error_code(std::errc::timed_out));
  static_cast<void>(co_await as_result(waiting.done()));
}
Task<> await_cancelled(Scope& scope, Event& event, std::error_code& outcome) {
  Started<> waiting = start(test::loop_of(scope).root_scope(), note_end(event, outcome));
  scope.cancel();
  static_cast<void>(co_await as_result(waiting.done()));  // has been cancelled before it waits
}
Task<> replace_handles(Scope& scope, std::vector<std::string>& texts) {
  Started<std::string> current = start(scope, text_after(1, "0"));
  for (int i = 1; i < 4; ++i) {
    Started<std::string> next = start(scope, text_after(i, std::to_string(i)));
    texts.push_back(co_await current.done());
    current = std::move(next);
  }
  texts.push_back(co_await current.done());
}

Task<> overlapping_collectives(Rank& self) {
  Team& team = self.world();
  std::vector<std::vector<std::uint32_t>> values(6);
  std::vector<Started<>> broadcasts;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint32_t root = i % self.size();
    values[i].assign(1000, self.id() == root ? i : 99);
    broadcasts.push_back(start(self, team.broadcast(values[i], root)));
  }
  Started<> barrier = start(self, team.barrier());
  for (std::size_t i = values.size(); i-- > 0;) co_await broadcasts[i].done();  // not in the order of their start
  co_await barrier.done();
  for (std::uint32_t i = 0; i < values.size(); ++i)
    if (values[i] != std::vector<std::uint32_t>(1000, i)) throw Error(Errc::bad_input, "a broadcast is wrong");
}

std::string error_of(EventLoop& loop, Task<> task) {
  try {
    loop.run(std::move(task));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("started: a task runs at once, and its value is taken later") {
  EventLoop loop;
  std::vector<std::string> texts;
  bool finished = false;
  loop.run(with_scope(take_values, std::ref(texts), std::ref(finished)));
  CHECK(finished);
  CHECK(texts == std::vector<std::string>{"late", "early"});
}

TEST_CASE("started: tasks begin in the order of the calls, before start() returns") {
  EventLoop loop;
  std::vector<int> order;
  loop.run(with_scope(start_in_order, std::ref(order)));
  CHECK(order == std::vector<int>{1, 2, 3, 11, 12});
}

TEST_CASE("started: an error is thrown by done(), once, and does not reach the scope then") {
  for (const int turns : {0, 3}) {
    CAPTURE(turns);
    EventLoop loop;
    std::vector<std::string> texts;
    loop.run(with_scope(catch_error, turns, std::ref(texts)));
    CHECK(texts == std::vector<std::string>{"no such thing", "nothing"});
  }
}

TEST_CASE("started: an error that the handle has not thrown is the scope's") {
  for (const int turns : {0, 1, 2, 5}) {
    for (const int turns_alive : {0, 1, 2, 3, 8}) {
      CAPTURE(turns);
      CAPTURE(turns_alive);
      EventLoop loop;
      CHECK(error_of(loop, with_scope(let_error_go, turns, turns_alive)) == "no such thing");
    }
  }
}

TEST_CASE("started: a scope's task may outlive its handle") {
  EventLoop loop;
  std::vector<int> order;
  loop.run(with_scope(outlive_handle, std::ref(order)));
  CHECK(order == std::vector<int>{1, 11});
}

TEST_CASE("started: a time limit on done() cancels the task") {
  EventLoop loop;
  Event event;
  std::error_code inner;
  std::error_code outer;
  loop.run(with_scope(await_with_limit, std::ref(event), std::ref(inner), std::ref(outer)));
  CHECK(inner == std::errc::timed_out);
  CHECK(outer == std::errc::timed_out);
}

TEST_CASE("started: cancelling the owner cancels the task") {
  EventLoop loop;
  Event event;
  std::error_code outcome;
  CHECK(error_of(loop, with_scope(cancel_owner, std::ref(event), std::ref(outcome))) == "");
  CHECK(outcome == std::errc::timed_out);
}

TEST_CASE("started: awaited by a coroutine that is cancelled already, a task of another scope is cancelled") {
  EventLoop loop;
  Event event;
  std::error_code outcome;
  CHECK(error_of(loop, with_scope(await_cancelled, std::ref(event), std::ref(outcome))) == "");
  CHECK(outcome == std::errc::operation_canceled);
}

TEST_CASE("started: a handle may be moved and take the place of one that has been awaited") {
  EventLoop loop;
  std::vector<std::string> texts;
  loop.run(with_scope(replace_handles, std::ref(texts)));
  CHECK(texts == std::vector<std::string>{"0", "1", "2", "3"});
}

TEST_CASE("started: collectives of one team overlap, for many seeds") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    sim::SimJob job;
    job.size = 5;
    job.nodes = 2;
    job.seed = seed;
    CHECK(sim::text_of(job.run(overlapping_collectives)) == "");
  }
}

}  // namespace started_test
