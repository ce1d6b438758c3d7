// Condition: who is woken, with and without a lock, and notifications that are never lost to one that is cancelled.
#include "runtime/core/condition.hpp"

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

namespace condition_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

Task<> wait_once(Condition& condition, int number, std::vector<int>& order) {
  co_await condition.wait();
  order.push_back(number);
}
Task<> wait_quietly(Condition& condition, std::error_code& outcome) {
  try {
    co_await condition.wait();
  } catch (const Error& error) {
    outcome = error.code();
  }
}

Task<> wake_some(Scope& scope, Condition& condition, std::vector<int>& order) {
  condition.notify_all();  // nobody: it is not stored
  for (int number = 0; number < 5; ++number) scope.spawn(wait_once(condition, number, order));
  co_await test::turns(2);
  CHECK(order.empty());
  condition.notify_one();
  condition.notify_one();
  co_await test::turns(2);
  CHECK(order == std::vector<int>{0, 1});
  condition.notify_all();
}

struct Cancelled {
  bool notified_before;
  std::error_code first{};
  std::vector<int> order{};
};
Task<> cancel_first(Scope& scope, Condition& condition, Cancelled& trial) {
  Scope doomed(scope.loop(), &scope);
  doomed.spawn(wait_quietly(condition, trial.first));
  scope.spawn(wait_once(condition, 2, trial.order));
  co_await yield();
  if (trial.notified_before) condition.notify_one();
  doomed.cancel();
  if (!trial.notified_before) condition.notify_one();
  co_await doomed.join();
  co_await test::turns(2);
  CHECK(trial.order == std::vector<int>{2});
  if (trial.order.empty()) condition.notify_all();
}

Task<> wait_for_sum(Condition& condition, const int& sum, int at_least, std::vector<int>& order) {
  co_await condition.wait([&sum, at_least] { return sum >= at_least; });
  order.push_back(at_least);
}
Task<> raise_sum(Scope& scope, Condition& condition, std::vector<int>& order) {
  int sum = 0;
  scope.spawn(wait_for_sum(condition, sum, 0, order));  // does not wait
  scope.spawn(wait_for_sum(condition, sum, 3, order));
  scope.spawn(wait_for_sum(condition, sum, 2, order));
  while (order.size() < 3) {
    ++sum;
    condition.notify_all();
    co_await test::turns(2);
  }
}

/// With a lock: who is woken has it again.
struct Locked {
  Mutex mutex;
  Condition condition;
  std::vector<std::string> seen{};
  bool ready = false;
};
Task<> wait_with_lock(Locked& locked) {
  auto lock = co_await locked.mutex.lock();
  locked.seen.emplace_back("waits");
  try {
    co_await locked.condition.wait(lock, [&locked] { return locked.ready; });
    locked.seen.emplace_back(lock ? "woken with the lock" : "woken without the lock");
  } catch (const Error&) {
    locked.seen.emplace_back(lock ? "cancelled with the lock" : "cancelled without the lock");
    throw;
  }
}
Task<> wake_with_lock(Scope& scope, Locked& locked, bool cancels) {
  Scope waiting(scope.loop(), &scope);
  waiting.spawn(wait_with_lock(locked));
  co_await yield();
  {
    auto lock = co_await locked.mutex.lock();  // the waiter has let it go
    locked.seen.emplace_back("taken by the other");
    locked.ready = !cancels;
    locked.condition.notify_one();
    if (cancels) waiting.cancel();
    co_await test::turns(3);
    locked.seen.emplace_back("let go by the other");
  }
  co_await join_quietly(waiting);
}

Task<> report_waits(Scope& scope, Locked& locked, std::string& with_lock, std::string& without) {
  std::vector<int> order;
  Condition other("jobs to come");
  int sum = 0;
  scope.spawn(wait_with_lock(locked));
  scope.spawn(wait_for_sum(other, sum, 1, order));
  co_await yield();
  with_lock = test::wait_report(test::loop_of(scope));
  locked.ready = true;
  locked.condition.notify_all();
  co_await test::turns(3);
  without = test::wait_report(test::loop_of(scope));
  sum = 1;
  other.notify_one();
  while (order.empty()) co_await yield();
}

Task<> await_many(Condition& condition, const std::uint64_t& from, std::uint64_t& allocations, int& left) {
  for (int i = 0; i < 100; ++i) {
    co_await condition.wait();
    allocations = test::allocation_count() - from;
  }
  --left;
}
Task<> count_allocations(Scope& scope, Condition& condition, std::uint64_t& allocations) {
  std::uint64_t from = 0;
  int left = 10;
  for (int i = 0; i < 10; ++i) scope.spawn(await_many(condition, from, allocations, left));
  int turn = 0;
  while (left > 0) {
    if (turn++ == 10) from = test::allocation_count();  // queues have reached their size
    condition.notify_all();
    co_await yield();
  }
}

/// A patient waiter is woken if, and only if, the hasty one before it did not take the notification.
struct Hasty {
  int taken = 0;
  int passed_on = 0;
};
Task<> lose_and_pass_on(Scope& scope, Hasty& hasty, test::RandomOrder& random) {
  Condition condition;
  std::vector<int> order;
  Scope others(scope.loop(), &scope);
  Scope doomed(scope.loop(), &scope);
  std::error_code outcome;
  doomed.spawn(wait_quietly(condition, outcome));
  others.spawn(wait_once(condition, 1, order));
  co_await test::turns(random.below(3));
  condition.notify_one();
  if (random.below(2) == 0) co_await yield();
  doomed.cancel();
  co_await doomed.join();
  co_await test::turns(3);
  CHECK(order.size() == (outcome ? 1 : 0));
  ++(outcome ? hasty.passed_on : hasty.taken);
  condition.notify_all();
  co_await others.join();
}

}  // namespace

TEST_CASE("condition: notify_one wakes who waits longest, notify_all wakes all") {
  EventLoop loop;
  Condition condition;
  std::vector<int> order;
  loop.run(with_scope(wake_some, std::ref(condition), std::ref(order)));
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

TEST_CASE("condition: a waiter that is cancelled as it is notified hands that on to the next") {
  for (const bool notified_before : {false, true}) {
    CAPTURE(notified_before);
    EventLoop loop;
    Condition condition;
    Cancelled trial{notified_before};
    loop.run(with_scope(cancel_first, std::ref(condition), std::ref(trial)));
    CHECK(trial.first == std::errc::operation_canceled);
  }
}

TEST_CASE("condition: waits until what it was given is true") {
  EventLoop loop;
  Condition condition;
  std::vector<int> order;
  loop.run(with_scope(raise_sum, std::ref(condition), std::ref(order)));
  CHECK(order == std::vector<int>{0, 2, 3});
}

TEST_CASE("condition: the lock is let go for the wait and held again after it, also when that is cancelled") {
  for (const bool cancels : {false, true}) {
    CAPTURE(cancels);
    EventLoop loop;
    Locked locked;
    loop.run(with_scope(wake_with_lock, std::ref(locked), cancels));
    CHECK(locked.seen == std::vector<std::string>{"waits", "taken by the other", "let go by the other",
                                                  cancels ? "cancelled with the lock" : "woken with the lock"});
    CHECK(!locked.mutex.locked());
  }
}

TEST_CASE("condition: a hang report says what is waited for, and the user's place") {
  EventLoop loop;
  Locked locked;
  std::string with_lock;
  std::string without;
  loop.run(with_scope(report_waits, std::ref(locked), std::ref(with_lock), std::ref(without)));
  CAPTURE(with_lock);
  CAPTURE(without);
  CHECK(with_lock.find("  condition, for ") != std::string::npos);
  CHECK(with_lock.find(", at condition_test.cpp:") != std::string::npos);
  CHECK(with_lock.find(", at condition.") == std::string::npos);
  CHECK(without.find("  jobs to come, for ") != std::string::npos);
  CHECK(without.find(", at condition_test.cpp:") != std::string::npos);
  CHECK(without.find(", at condition.") == std::string::npos);
}

TEST_CASE("condition: a wait allocates nothing") {
  EventLoop loop;
  Condition condition;
  std::uint64_t allocations = 1;
  loop.run(with_scope(count_allocations, std::ref(condition), std::ref(allocations)));
  if (test::allocations_are_counted())
    CHECK(allocations == 0);
  else
    MESSAGE("not counted: sanitizers bring their own operator new");
}

TEST_CASE("condition: a notification reaches exactly one, whenever the first to get it is cancelled") {
  Hasty hasty;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    CAPTURE(seed);
    test::RandomOrder random(seed);
    EventLoop loop;
    loop.set_ready_order(&random);
    loop.run(with_scope(lose_and_pass_on, std::ref(hasty), std::ref(random)));
  }
  CHECK(hasty.taken > 50);  // else it has tried nothing
  CHECK(hasty.passed_on > 50);
}

}  // namespace condition_test
