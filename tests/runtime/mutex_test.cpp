// Mutex: turns, cancellation at every moment, and what is said of who waits.
#include "runtime/core/mutex.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "tests/allocations.hpp"
#include "tests/runtime/loop_of.hpp"
#include "tests/runtime/random_order.hpp"

namespace mutex_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

Task<> take(Mutex& mutex, int number, std::vector<int>& order) {
  auto lock = co_await mutex.lock();
  order.push_back(number);
  co_await yield();
  order.push_back(number);
}
Task<> take_quietly(Mutex& mutex, std::error_code& outcome) {
  try {
    auto lock = co_await mutex.lock();
  } catch (const Error& error) {
    outcome = error.code();
  }
}

Task<> take_in_turn(Scope& scope, Mutex& mutex, std::vector<int>& order) {
  for (int number = 0; number < 5; ++number) scope.spawn(take(mutex, number, order));
  co_return;
}

Task<> take_twice(Scope& scope, Mutex& mutex, std::vector<int>& order) {
  auto lock = co_await mutex.lock();
  scope.spawn(take(mutex, 1, order));
  lock.unlock();
  CHECK(!mutex.try_lock());  // it is the other's already
  lock = co_await mutex.lock();
  order.push_back(0);
}

Task<> try_it(Mutex& mutex) {
  {
    auto lock = mutex.try_lock();
    CHECK(lock);
    CHECK(mutex.locked());
    CHECK(!mutex.try_lock());
    Mutex::Lock moved = std::move(lock);
    CHECK(!lock);  // NOLINT(bugprone-use-after-move): that is the question
    CHECK(moved);
  }
  CHECK(!mutex.locked());
  co_return;
}

/// `first` waits, then `second`; `first` is cancelled before, or at the moment when, it gets the lock.
struct Cancelled {
  bool granted_before;
  std::error_code first{};
  std::vector<int> order{};
};
Task<> cancel_first(Scope& scope, Mutex& mutex, Cancelled& trial) {
  auto lock = co_await mutex.lock();
  Scope doomed(scope.loop(), &scope);
  doomed.spawn(take_quietly(mutex, trial.first));
  scope.spawn(take(mutex, 2, trial.order));
  co_await yield();
  if (trial.granted_before) lock.unlock();
  doomed.cancel();
  if (!trial.granted_before) lock.unlock();
  co_await doomed.join();
}

Task<> wait_cancelled_before(Scope& scope, Mutex& mutex, std::error_code& outcome) {
  scope.cancel(std::make_error_code(std::errc::timed_out));
  co_await take_quietly(mutex, outcome);
}

Task<> hold_while(Mutex& mutex, Event& event) {
  auto lock = co_await mutex.lock();
  co_await event;
}
Task<> report_waits(Scope& scope, Mutex& mutex, std::string& report) {
  Event event;
  std::vector<int> order;
  scope.spawn(hold_while(mutex, event));
  scope.spawn(take(mutex, 1, order));
  co_await yield();
  report = test::wait_report(test::loop_of(scope));
  event.set();
  while (order.size() < 2) co_await yield();
}

Task<> contend(Mutex& mutex, int rounds, const std::uint64_t& from, std::uint64_t& allocations) {
  for (int i = 0; i < rounds; ++i) {
    auto lock = co_await mutex.lock();
    co_await yield();
    allocations = test::allocation_count() - from;
  }
}
Task<> count_allocations(Scope& scope, Mutex& mutex, std::uint64_t& allocations) {
  std::uint64_t from = 0;
  Scope contenders(scope.loop(), &scope);
  for (int i = 0; i < 10; ++i) contenders.spawn(contend(mutex, 100, from, allocations));
  co_await test::turns(10);  // queues reach their size
  from = test::allocation_count();
  co_await contenders.join();  // they refer to what is here
}

/// In a race with others that may end at the same moment.
struct Race {
  Mutex mutex;
  int inside = 0;
  int most_inside = 0;
  int locked = 0;
};
Task<> stay_inside(Race& race, std::size_t turns) {
  auto lock = co_await race.mutex.lock();
  race.most_inside = std::max(race.most_inside, ++race.inside);
  try {
    co_await test::turns(turns);
  } catch (const Error&) {
    --race.inside;
    throw;
  }
  --race.inside;
  ++race.locked;
}
Task<> lock_and_lose(Race& race, test::RandomOrder& random) {
  for (int i = 0; i < 20; ++i) co_await test::ends_within(random.below(6), stay_inside(race, random.below(4)));
}
Task<> race_for_locks(Scope& scope, Race& race, test::RandomOrder& random) {
  for (int i = 0; i < 8; ++i) scope.spawn(lock_and_lose(race, random));
  co_return;
}

}  // namespace

TEST_CASE("mutex: coroutines hold it one at a time, in the order in which they asked for it") {
  EventLoop loop;
  Mutex mutex;
  std::vector<int> order;
  loop.run(with_scope(take_in_turn, std::ref(mutex), std::ref(order)));
  CHECK(order == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4});
  CHECK(!mutex.locked());
}

TEST_CASE("mutex: who lets it go and wants it again comes after those who wait") {
  EventLoop loop;
  Mutex mutex;
  std::vector<int> order;
  loop.run(with_scope(take_twice, std::ref(mutex), std::ref(order)));
  CHECK(order == std::vector<int>{1, 1, 0});
}

TEST_CASE("mutex: try_lock takes it only when nobody has it") {
  EventLoop loop;
  Mutex mutex;
  loop.run(try_it(mutex));
}

TEST_CASE("mutex: a waiter that is cancelled hands it on, also when it is cancelled at the moment when it gets it") {
  for (const bool granted_before : {false, true}) {
    CAPTURE(granted_before);
    EventLoop loop;
    Mutex mutex;
    Cancelled trial{granted_before};
    loop.run(with_scope(cancel_first, std::ref(mutex), std::ref(trial)));
    CHECK(trial.first == std::errc::operation_canceled);
    CHECK(trial.order == std::vector<int>{2, 2});
    CHECK(!mutex.locked());
  }
}

TEST_CASE("mutex: a coroutine that has been cancelled does not get it, though nobody has it") {
  EventLoop loop;
  Mutex mutex;
  std::error_code outcome;
  loop.run(with_scope(wait_cancelled_before, std::ref(mutex), std::ref(outcome)));
  CHECK(outcome == std::errc::timed_out);
  CHECK(!mutex.locked());
}

TEST_CASE("mutex: a hang report says what is waited for and where") {
  EventLoop loop;
  Mutex mutex("lock of the table");
  std::string report;
  loop.run(with_scope(report_waits, std::ref(mutex), std::ref(report)));
  CAPTURE(report);
  CHECK(report.find("  lock of the table, for ") != std::string::npos);
  CHECK(report.find(", at mutex_test.cpp:") != std::string::npos);
}

TEST_CASE("mutex: a wait allocates nothing") {
  EventLoop loop;
  Mutex mutex;
  std::uint64_t allocations = 1;
  loop.run(with_scope(count_allocations, std::ref(mutex), std::ref(allocations)));
  if (test::allocations_are_counted())
    CHECK(allocations == 0);
  else
    MESSAGE("not counted: sanitizers bring their own operator new");
}

TEST_CASE("mutex: in races that somebody else wins at any moment, it is never held twice and never lost") {
  int locked = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    test::RandomOrder random(seed);
    EventLoop loop;
    loop.set_ready_order(&random);
    Race race;
    loop.run(with_scope(race_for_locks, std::ref(race), std::ref(random)));
    CHECK(race.most_inside == 1);
    CHECK(race.inside == 0);
    CHECK(!race.mutex.locked());
    locked += race.locked;
  }
  CHECK(locked > 1000);  // else it has tried nothing
}

}  // namespace mutex_test
