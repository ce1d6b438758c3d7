// Scopes: joining, errors travelling up, cancellation travelling down, and what a live wait can say of itself.
#include "runtime/core/scope.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/event_loop.hpp"
#include "tests/runtime/loop_of.hpp"

namespace scope_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

Task<> increment(int& count) {
  ++count;
  co_return;
}
Task<> increment_later(int& count, int turns) {
  for (int i = 0; i < turns; ++i) co_await yield();
  ++count;
}
Task<> wait_for(Event& event, std::error_code& outcome) {
  try {
    co_await event;
  } catch (const Error& error) {
    outcome = error.code();
    throw;
  }
}
Task<> fail(int turns) {
  for (int i = 0; i < turns; ++i) co_await yield();
  throw std::runtime_error("child failed");
}

Task<> spawn_many(Scope& scope, int children, int& count) {
  for (int i = 0; i < children; ++i) scope.spawn(increment_later(count, i % 7));
  co_return;
}
Task<> spawn_ready(Scope& scope, int children, int& count) {
  for (int i = 0; i < children; ++i) scope.spawn(increment(count));
  co_return;
}
Task<> failing_family(Scope& scope, Event& event, std::error_code& outcome) {
  scope.spawn(wait_for(event, outcome));
  scope.spawn(fail(3));
  co_return;
}
Task<> cancel_soon(Scope& scope, Event& event, std::error_code& outcome) {
  scope.spawn(wait_for(event, outcome));
  co_await yield();
  scope.cancel();
}
Task<> grandchildren(Scope& scope, Event& event, std::error_code& outcome) {
  co_await with_scope(cancel_soon, std::ref(event), std::ref(outcome));
  static_cast<void>(scope);
}
Task<> cancel_from_above(Scope& scope, Event& event, std::error_code& outcome) {
  scope.spawn(with_scope(grandchildren, std::ref(event), std::ref(outcome)));
  co_await yield();
  scope.cancel(std::make_error_code(std::errc::timed_out));
}

class Collect final : public WaiterVisitor {
 public:
  void visit(const Waiter& waiter, int) noexcept override { whats.emplace_back(waiter.what()); }
  std::vector<std::string> whats;
};

Task<> look_at_waits(Scope& scope, Event& event, std::vector<std::string>& whats) {
  std::error_code outcome;
  scope.spawn(wait_for(event, outcome));
  co_await yield();  // lets the scope's owner reach its join
  Collect collect;
  test::loop_of(scope).root_scope().visit(collect);
  whats = collect.whats;
  event.set();
  co_await yield();
}

Task<> note_waking(Event& event, int number, std::vector<int>& order) {
  co_await event;
  order.push_back(number);
}
Task<> wait_in_turn(Scope& scope, Event& event, std::vector<int>& order) {
  for (int number = 0; number < 4; ++number) scope.spawn(note_waking(event, number, order));
  co_await yield();
  event.set();
}

}  // namespace

namespace {

Task<> serve_for_ever(Event& event, std::error_code& outcome) {
  co_await wait_for(event, outcome);
}
Task<> work_beside_a_service(Scope& services, Event& event, std::error_code& outcome) {
  services.spawn(serve_for_ever(event, outcome));
  for (int i = 0; i < 3; ++i) co_await yield();
}
Task<> fail_beside_a_service(Scope& services, Event& event, std::error_code& outcome) {
  services.spawn(serve_for_ever(event, outcome));
  co_await fail(2);
}
Task<> work_beside_one_that_fails(Scope& services, Event& event, std::error_code& outcome) {
  services.spawn(fail(2));
  co_await wait_for(event, outcome);
}

}  // namespace

TEST_CASE("with_services: the end of the body ends the services, and an error of either ends all") {
  EventLoop loop;
  Event event;
  std::error_code outcome;
  loop.run(with_services(work_beside_a_service, std::ref(event), std::ref(outcome)));
  CHECK(outcome == std::errc::operation_canceled);
  outcome.clear();
  CHECK_THROWS_WITH(loop.run(with_services(fail_beside_a_service, std::ref(event), std::ref(outcome))), "child failed");
  CHECK(outcome == std::errc::operation_canceled);
  outcome.clear();
  CHECK_THROWS_WITH(loop.run(with_services(work_beside_one_that_fails, std::ref(event), std::ref(outcome))),
                    "child failed");
  CHECK(outcome == std::errc::operation_canceled);
}

TEST_CASE("scope: joins children that finish at once and later") {
  EventLoop loop;
  int count = 0;
  loop.run(with_scope(spawn_many, 1000, std::ref(count)));
  CHECK(count == 1000);
  loop.run(with_scope(spawn_ready, 1'000'000, std::ref(count)));
  CHECK(count == 1'001'000);
}

TEST_CASE("scope: the first error cancels the siblings, joins them and is rethrown") {
  EventLoop loop;
  Event event;
  std::error_code outcome;
  CHECK_THROWS_WITH(loop.run(with_scope(failing_family, std::ref(event), std::ref(outcome))), "child failed");
  CHECK(outcome.value() == static_cast<int>(std::errc::operation_canceled));
}

TEST_CASE("scope: cancellation reaches waits of grandchildren with its reason") {
  EventLoop loop;
  Event event;
  std::error_code outcome;
  CHECK_THROWS_AS(loop.run(with_scope(cancel_from_above, std::ref(event), std::ref(outcome))), Error);
  CHECK(outcome.value() != 0);
}

TEST_CASE("scope: every live wait says what it awaits") {
  EventLoop loop;
  Event event;
  std::vector<std::string> whats;
  loop.run(with_scope(look_at_waits, std::ref(event), std::ref(whats)));
  REQUIRE(whats.size() == 2);
  CHECK(whats[0] == "children");
  CHECK(whats[1] == "event");
}

TEST_CASE("event: those who wait are woken in the order in which they came") {
  EventLoop loop;
  Event event;
  std::vector<int> order;
  loop.run(with_scope(wait_in_turn, std::ref(event), std::ref(order)));
  CHECK(order == std::vector<int>{0, 1, 2, 3});
}

}  // namespace scope_test
