// Semaphore: turns, and permits that are never lost.
#include "runtime/core/semaphore.hpp"

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

namespace semaphore_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

Task<> take(Semaphore& semaphore, std::size_t count, int number, std::vector<int>& order) {
  auto permit = co_await semaphore.acquire(count);
  CHECK(permit.count() == count);
  order.push_back(number);
  co_await yield();
}
Task<> take_quietly(Semaphore& semaphore, std::size_t count, std::error_code& outcome) {
  try {
    auto permit = co_await semaphore.acquire(count);
  } catch (const Error& error) {
    outcome = error.code();
  }
}

struct Crowd {
  int inside = 0;
  int most = 0;
};
Task<> enter(Semaphore& semaphore, Crowd& crowd) {
  auto permit = co_await semaphore.acquire();
  crowd.most = std::max(crowd.most, ++crowd.inside);
  co_await test::turns(3);
  --crowd.inside;
}
Task<> let_some_in(Scope& scope, Semaphore& semaphore, Crowd& crowd) {
  for (int i = 0; i < 20; ++i) scope.spawn(enter(semaphore, crowd));
  co_return;
}

Task<> many_before_few(Scope& scope, Semaphore& semaphore, std::vector<int>& order) {
  auto one = co_await semaphore.acquire(1);
  scope.spawn(take(semaphore, 3, 3, order));  // of 3, so it waits
  scope.spawn(take(semaphore, 1, 1, order));  // could have one of the two that are left
  CHECK(!semaphore.try_acquire(1));
  co_await test::turns(3);
  CHECK(order.empty());
  one.release();
}

/// One that asks for many is cancelled, before or at the moment when it gets them, and must let those behind it go on.
struct Cancelled {
  bool granted_before;
  std::error_code first{};
  std::vector<int> order{};
};
Task<> cancel_the_large(Scope& scope, Semaphore& semaphore, Cancelled& trial) {
  auto one = co_await semaphore.acquire(1);
  Scope doomed(scope.loop(), &scope);
  doomed.spawn(take_quietly(semaphore, 3, trial.first));
  scope.spawn(take(semaphore, 2, 2, trial.order));
  co_await yield();
  if (trial.granted_before) one.release();
  doomed.cancel();
  co_await doomed.join();
  co_await test::turns(3);
  CHECK(trial.order == std::vector<int>{2});
}

Task<> keep_one(Semaphore& semaphore) {
  auto permit = co_await semaphore.acquire(2);
  CHECK(permit.keep() == 2);
  CHECK(!permit);
}

Task<> report_waits(Scope& scope, Semaphore& semaphore, std::string& report) {
  std::vector<int> order;
  scope.spawn(take(semaphore, 2, 1, order));
  co_await yield();
  report = test::wait_report(test::loop_of(scope));
  semaphore.release(1);
  while (order.empty()) co_await yield();
}

Task<> contend(Semaphore& semaphore, const std::uint64_t& from, std::uint64_t& allocations) {
  for (std::size_t i = 0; i < 100; ++i) {
    auto permit = co_await semaphore.acquire(1 + i % 3);
    co_await yield();
    allocations = test::allocation_count() - from;
  }
}
Task<> count_allocations(Scope& scope, Semaphore& semaphore, std::uint64_t& allocations) {
  std::uint64_t from = 0;
  Scope contenders(scope.loop(), &scope);
  for (int i = 0; i < 10; ++i) contenders.spawn(contend(semaphore, from, allocations));
  co_await test::turns(10);  // queues reach their size
  from = test::allocation_count();
  co_await contenders.join();  // they refer to what is here
}

struct Race {
  Semaphore semaphore{3};
  std::size_t taken = 0;
  std::size_t most_taken = 0;
  int ended = 0;
};
Task<> stay_inside(Race& race, std::size_t count, std::size_t turns) {
  auto permit = co_await race.semaphore.acquire(count);
  race.taken += count;
  race.most_taken = std::max(race.most_taken, race.taken);
  std::exception_ptr failure;
  try {
    co_await test::turns(turns);
  } catch (...) {
    failure = std::current_exception();
  }
  race.taken -= count;
  if (failure) std::rethrow_exception(failure);
  ++race.ended;
}
Task<> take_and_lose(Race& race, test::RandomOrder& random) {
  for (int i = 0; i < 20; ++i)
    co_await test::ends_within(random.below(6), stay_inside(race, 1 + random.below(3), random.below(4)));
}
Task<> race_for_permits(Scope& scope, Race& race, test::RandomOrder& random) {
  for (int i = 0; i < 8; ++i) scope.spawn(take_and_lose(race, random));
  co_return;
}

}  // namespace

TEST_CASE("semaphore: so many hold a permit at a time, and all get one") {
  EventLoop loop;
  Semaphore semaphore(4);
  Crowd crowd;
  loop.run(with_scope(let_some_in, std::ref(semaphore), std::ref(crowd)));
  CHECK(crowd.most == 4);
  CHECK(crowd.inside == 0);
  CHECK(semaphore.available() == 4);
}

TEST_CASE("semaphore: who asks for many is not overtaken by who asks for few") {
  EventLoop loop;
  Semaphore semaphore(3);
  std::vector<int> order;
  loop.run(with_scope(many_before_few, std::ref(semaphore), std::ref(order)));
  CHECK(order == std::vector<int>{3, 1});
  CHECK(semaphore.available() == 3);
}

TEST_CASE("semaphore: a waiter that is cancelled loses no permit and holds nobody up, at whatever moment it happens") {
  for (const bool granted_before : {false, true}) {
    CAPTURE(granted_before);
    EventLoop loop;
    Semaphore semaphore(3);
    Cancelled trial{granted_before};
    loop.run(with_scope(cancel_the_large, std::ref(semaphore), std::ref(trial)));
    CHECK(trial.first == std::errc::operation_canceled);
    CHECK(semaphore.available() == 3);
  }
}

TEST_CASE("semaphore: permits that are kept stay taken until somebody releases them") {
  EventLoop loop;
  Semaphore semaphore(2);
  loop.run(keep_one(semaphore));
  CHECK(semaphore.available() == 0);
  CHECK(!semaphore.try_acquire());
  semaphore.release(2);
  CHECK(semaphore.try_acquire(2).count() == 2);
  CHECK(semaphore.available() == 2);
}

TEST_CASE("semaphore: a hang report says what is waited for and where") {
  EventLoop loop;
  Semaphore semaphore(1);
  std::string report;
  loop.run(with_scope(report_waits, std::ref(semaphore), std::ref(report)));
  CAPTURE(report);
  CHECK(report.find("  semaphore, for ") != std::string::npos);
  CHECK(report.find(", at semaphore_test.cpp:") != std::string::npos);
}

TEST_CASE("semaphore: a wait allocates nothing") {
  EventLoop loop;
  Semaphore semaphore(4);
  std::uint64_t allocations = 1;
  loop.run(with_scope(count_allocations, std::ref(semaphore), std::ref(allocations)));
  if (test::allocations_are_counted())
    CHECK(allocations == 0);
  else
    MESSAGE("not counted: sanitizers bring their own operator new");
}

TEST_CASE("semaphore: in races that somebody else wins at any moment, no permit is lost or made") {
  int ended = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    test::RandomOrder random(seed);
    EventLoop loop;
    loop.set_ready_order(&random);
    Race race;
    loop.run(with_scope(race_for_permits, std::ref(race), std::ref(random)));
    CHECK(race.most_taken <= 3);
    CHECK(race.semaphore.available() == 3);
    ended += race.ended;
  }
  CHECK(ended > 1000);  // else it has tried nothing
}

}  // namespace semaphore_test
