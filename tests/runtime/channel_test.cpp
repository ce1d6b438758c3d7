// Channel: order, room, the end, and values that are neither lost nor doubled, whoever is cancelled when.
#include "runtime/core/channel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "runtime/core/event.hpp"
#include "runtime/core/scope.hpp"
#include "tests/allocations.hpp"
#include "tests/runtime/loop_of.hpp"
#include "tests/runtime/random_order.hpp"

namespace channel_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

Task<> send_all(Channel<int>& channel, int from, int count, bool closes) {
  for (int i = 0; i < count; ++i) co_await channel.send(from + i);
  if (closes) channel.close();
}
Task<> receive_all(Channel<int>& channel, std::vector<int>& values) {
  while (auto value = co_await channel.receive()) values.push_back(*value);
}
Task<> receive_one(Channel<int>& channel, int number, std::vector<int>& order) {
  const std::optional<int> value = co_await channel.receive();
  order.push_back(value ? 100 * number + *value : -number);
}
Task<> send_quietly(Channel<int>& channel, int value, std::error_code& outcome) {
  const Result<> sent = co_await as_result(channel.send(value));
  outcome = sent.code();
}
Task<> receive_quietly(Channel<int>& channel, std::error_code& outcome) {
  const auto received = co_await as_result(channel.receive());
  outcome = received.code();
}

Task<> stream(Scope& scope, Channel<int>& channel, std::vector<int>& values) {
  scope.spawn(receive_all(channel, values));
  co_await send_all(channel, 0, 100, true);
}
Task<> stream_to_late(Scope& scope, Channel<int>& channel, std::vector<int>& values) {
  scope.spawn(send_all(channel, 0, 10, true));
  co_await test::turns(5);
  CHECK(channel.size() == 4);  // it is full, and the sender waits
  co_await receive_all(channel, values);
}

Task<> many_senders(Scope& scope, Channel<int>& channel, std::vector<int>& values) {
  for (int i = 0; i < 8; ++i) scope.spawn(send_all(channel, i, 1, false));
  co_await test::turns(3);
  for (int i = 0; i < 8; ++i) {
    const std::optional<int> value = co_await channel.receive();
    values.push_back(*value);
  }
}
Task<> many_receivers(Scope& scope, Channel<int>& channel, std::vector<int>& order) {
  for (int number = 1; number <= 8; ++number) scope.spawn(receive_one(channel, number, order));
  co_await test::turns(3);
  for (int i = 0; i < 6; ++i) co_await channel.send(i);
  channel.close();
}

Task<> close_on_all(Scope& scope, Channel<int>& channel, std::vector<std::error_code>& outcomes) {
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) scope.spawn(send_quietly(channel, i, outcomes[static_cast<std::size_t>(i)]));
  co_await yield();
  channel.close();
  co_await test::turns(6);
  scope.spawn(send_quietly(channel, 4, outcomes[4]));
  co_await receive_all(channel, order);
  CHECK(order == std::vector<int>{0});
  const std::optional<int> more = co_await channel.receive();  // still the end
  CHECK(!more);
}

/// A sender is cancelled as it gets room; a receiver is cancelled as there is something for it.
Task<> cancel_sender(Scope& scope, bool granted_before, std::vector<int>& values, std::error_code& outcome) {
  Channel<int> channel(1);
  co_await channel.send(1);
  Scope doomed(scope.loop(), &scope);
  Scope others(scope.loop(), &scope);
  doomed.spawn(send_quietly(channel, 2, outcome));
  others.spawn(send_all(channel, 3, 1, false));
  co_await yield();
  if (granted_before) values.push_back(channel.try_receive().value_or(-1));
  doomed.cancel();
  co_await doomed.join();
  for (std::size_t more = granted_before ? 1 : 2; more > 0; --more) {
    const std::optional<int> value = co_await channel.receive();
    values.push_back(*value);
  }
  co_await others.join();
  CHECK(channel.empty());
}
Task<> cancel_receiver(Scope& scope, bool granted_before, std::vector<int>& order, std::error_code& outcome) {
  Channel<int> channel(1);
  Scope doomed(scope.loop(), &scope);
  Scope others(scope.loop(), &scope);
  doomed.spawn(receive_quietly(channel, outcome));
  others.spawn(receive_one(channel, 2, order));
  co_await yield();
  if (granted_before) {
    co_await channel.send(7);
    CHECK(!channel.try_receive());  // others wait for it
  }
  doomed.cancel();
  if (!granted_before) co_await channel.send(7);
  co_await doomed.join();
  co_await others.join();
  CHECK(channel.empty());
}

Task<> move_only(Channel<std::unique_ptr<int>>& channel) {
  auto one = std::make_unique<int>(1);
  CHECK(channel.try_send(one));
  CHECK(one == nullptr);
  one = std::make_unique<int>(2);
  CHECK(!channel.try_send(one));
  CHECK(one != nullptr);  // it is still the sender's
  const auto received = co_await channel.receive();
  CHECK(**received == 1);
  CHECK(!channel.try_receive());
}

Task<> await_end(Channel<std::string>& names) {
  const std::optional<std::string> name = co_await names.receive();
  CHECK(!name);
}
Task<> report_waits(Scope& scope, std::string& report) {
  Channel<int> full(1);
  Channel<std::string> names(1, "name to be sent", "name to come");
  scope.spawn(send_all(full, 0, 2, false));
  Scope others(scope.loop(), &scope);
  others.spawn(await_end(names));
  co_await yield();
  report = test::wait_report(test::loop_of(scope));
  CHECK(full.try_receive() == 0);
  while (full.empty()) co_await yield();
  names.close();
  co_await others.join();
}

Task<> pass_many(Channel<int>& channel) {
  for (int i = 0; i < 1000; ++i) co_await channel.send(i);
}
Task<> count_allocations(Scope& scope, Channel<int>& channel, std::uint64_t& allocations) {
  scope.spawn(pass_many(channel));
  std::uint64_t from = 0;
  for (int i = 0; i < 1000; ++i) {
    if (i == 10) from = test::allocation_count();  // queues have reached their size
    const std::optional<int> value = co_await channel.receive();
    if (value != i) co_return;
  }
  allocations = test::allocation_count() - from;
}

/// Senders and receivers of which each may lose a race at any moment.
struct Race {
  explicit Race(std::size_t capacity) : channel(capacity) {}
  Channel<int> channel;
  std::vector<int> sent{};
  std::vector<int> received{};
  int senders = 4;
};
Task<> send_one(Race& race, int value) {
  co_await race.channel.send(value);
}
Task<> send_and_lose(Race& race, int number, test::RandomOrder& random) {
  for (int i = 0; i < 30; ++i) {
    const int value = 100 * number + i;
    const bool sent = co_await test::ends_within(random.below(5), send_one(race, value));
    if (sent) race.sent.push_back(value);
  }
  if (--race.senders == 0) race.channel.close();
}
Task<std::optional<int>> nothing_after(std::size_t turns) {
  co_await test::turns(turns);
  co_return -1;
}
Task<> receive_and_lose(Race& race, test::RandomOrder& random) {
  for (;;) {
    std::vector<Task<std::optional<int>>> racers;
    racers.push_back(as_task(race.channel.receive()));
    racers.push_back(nothing_after(random.below(5)));
    if (random.below(2) == 0) std::swap(racers[0], racers[1]);
    const auto first = co_await when_any(std::move(racers));
    if (!first.value) co_return;
    if (*first.value >= 0) race.received.push_back(*first.value);
  }
}
Task<> race_for_values(Scope& scope, Race& race, test::RandomOrder& random) {
  for (int i = 0; i < 4; ++i) scope.spawn(send_and_lose(race, i, random));
  for (int i = 0; i < 3; ++i) scope.spawn(receive_and_lose(race, random));
  co_return;
}

}  // namespace

TEST_CASE("channel: values arrive in their order, to the end of the stream") {
  for (const std::size_t capacity : {1U, 2U, 3U, 200U}) {
    CAPTURE(capacity);
    EventLoop loop;
    Channel<int> channel(capacity);
    std::vector<int> values;
    loop.run(with_scope(stream, std::ref(channel), std::ref(values)));
    REQUIRE(values.size() == 100);
    for (int i = 0; i < 100; ++i) CHECK(values[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("channel: a sender waits while it is full, and what was sent before it was closed is still received") {
  EventLoop loop;
  Channel<int> channel(4);
  std::vector<int> values;
  loop.run(with_scope(stream_to_late, std::ref(channel), std::ref(values)));
  CHECK(values == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("channel: senders and receivers are served in the order of their coming, in whatever order coroutines run") {
  for (std::uint64_t seed = 0; seed <= 50; ++seed) {
    CAPTURE(seed);
    test::RandomOrder random(seed);
    EventLoop loop;
    Channel<int> channel(3);
    std::vector<int> values;
    std::vector<int> order;
    if (seed > 0) loop.set_ready_order(&random);
    loop.run(with_scope(many_senders, std::ref(channel), std::ref(values)));
    CHECK(values == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    loop.run(with_scope(many_receivers, std::ref(channel), std::ref(order)));
    CHECK(order == std::vector<int>{100, 201, 302, 403, 504, 605, -7, -8});
  }
}

TEST_CASE("channel: once it is closed, sends fail, those that wait and later ones") {
  EventLoop loop;
  Channel<int> channel(1);
  std::vector<std::error_code> outcomes(5);
  loop.run(with_scope(close_on_all, std::ref(channel), std::ref(outcomes)));
  CHECK(!outcomes[0]);
  for (std::size_t i = 1; i < outcomes.size(); ++i) CHECK(outcomes[i] == std::errc::broken_pipe);
}

TEST_CASE("channel: a sender that is cancelled as it gets room has sent nothing, and the next one gets the room") {
  for (const bool granted_before : {false, true}) {
    CAPTURE(granted_before);
    EventLoop loop;
    std::vector<int> values;
    std::error_code outcome;
    loop.run(with_scope(cancel_sender, granted_before, std::ref(values), std::ref(outcome)));
    CHECK(outcome == std::errc::operation_canceled);
    CHECK(values == std::vector<int>{1, 3});
  }
}

TEST_CASE("channel: a receiver that is cancelled as a value comes has taken nothing, and the next one gets the value") {
  for (const bool granted_before : {false, true}) {
    CAPTURE(granted_before);
    EventLoop loop;
    std::vector<int> order;
    std::error_code outcome;
    loop.run(with_scope(cancel_receiver, granted_before, std::ref(order), std::ref(outcome)));
    CHECK(outcome == std::errc::operation_canceled);
    CHECK(order == std::vector<int>{207});
  }
}

TEST_CASE("channel: try_send and try_receive do not wait, and leave a value with its owner that has no room") {
  EventLoop loop;
  Channel<std::unique_ptr<int>> channel(1);
  loop.run(move_only(channel));
}

TEST_CASE("channel: a hang report says who wants to send and who to receive, and where") {
  EventLoop loop;
  std::string report;
  loop.run(with_scope(report_waits, std::ref(report)));
  CAPTURE(report);
  CHECK(report.find("  send to a channel, for ") != std::string::npos);
  CHECK(report.find(", at channel_test.cpp:") != std::string::npos);
  CHECK(report.find("  name to come, for ") != std::string::npos);
}

TEST_CASE("channel: sending and receiving allocate nothing, whether they wait or not") {
  for (const std::size_t capacity : {1U, 16U}) {
    EventLoop loop;
    Channel<int> channel(capacity);
    std::uint64_t allocations = 1;
    loop.run(with_scope(count_allocations, std::ref(channel), std::ref(allocations)));
    if (test::allocations_are_counted())
      CHECK(allocations == 0);
    else
      MESSAGE("not counted: sanitizers bring their own operator new");
  }
}

TEST_CASE("channel: in races that somebody else wins at any moment, what was sent is received, once") {
  std::size_t sent = 0;
  std::size_t given_up = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    test::RandomOrder random(seed);
    EventLoop loop;
    loop.set_ready_order(&random);
    Race race(1 + seed % 3);
    loop.run(with_scope(race_for_values, std::ref(race), std::ref(random)));
    sent += race.sent.size();
    given_up += 120 - race.sent.size();
    std::sort(race.sent.begin(), race.sent.end());
    std::sort(race.received.begin(), race.received.end());
    CHECK(race.received == race.sent);
  }
  CHECK(sent > 1000);  // else it has tried nothing
  CHECK(given_up > 1000);
}

}  // namespace channel_test
