// Accounts of room: what a sender may send ahead, and when its receiver gives room back.
#include "runtime/messages/flow_control.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <random>

#include "transports/sim/schedule.hpp"

namespace flow_control_test {

using coracle::internals::FlowControl;
using coracle::internals::sim::Random;

namespace {

constexpr std::size_t kWindow = 1 << 16;

/// A sender that sends ahead whenever it may, and a receiver of which some messages stay unreceived.
struct Pair {
  FlowControl sender{kWindow};
  FlowControl receiver{kWindow};
  std::size_t told = 0;

  bool send(std::size_t bytes) {
    if (!sender.take_room(7, bytes)) return false;
    if (receiver.arrive(3, bytes)) tell();
    return true;
  }
  void receive(std::size_t bytes) {
    if (receiver.receive(3, bytes)) tell();
  }
  /// Short messages, each received as it comes.
  void pass(int messages) {
    for (int i = 0; i < messages; ++i) {
      REQUIRE(send(8));
      receive(8);
    }
  }
  void tell() {
    ++told;
    sender.received_by(7, receiver.received_from(3));
  }
};

}  // namespace

TEST_CASE("flow control: a sender has a window, of which each peer gives its own back") {
  FlowControl flow(kWindow);
  std::size_t sent = 0;
  while (flow.take_room(1, 1000)) ++sent;
  CHECK(sent == kWindow / (1000 + FlowControl::kMessageBytes));
  CHECK(flow.take_room(2, 1000));
  flow.received_by(1, 1000 + FlowControl::kMessageBytes);
  CHECK(flow.take_room(1, 1000));
  CHECK_FALSE(flow.take_room(1, 1000));
}

TEST_CASE("flow control: what is received as it comes counts as what comes and is received, told when a part is used") {
  FlowControl at_once(kWindow);
  FlowControl in_two(kWindow);
  std::uint64_t told = 0;
  std::size_t times = 0;
  for (std::size_t i = 0; i < 10'000; ++i) {
    const std::size_t bytes = i * 7 % 900;
    const bool tell = at_once.pass(3, bytes);
    in_two.arrive(3, bytes);
    in_two.receive(3, bytes);
    CHECK(at_once.received_from(3) == in_two.received_from(3));
    CHECK(tell == (at_once.received_from(3) - told >= kWindow / FlowControl::kToldPart));
    if (!tell) continue;
    told = at_once.received_from(3);
    ++times;
  }
  CHECK(times > 0);
}

TEST_CASE("flow control: a receiver that takes each message at once keeps its sender going, with few words") {
  Pair pair;
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(pair.send(8));
    pair.receive(8);
  }
  CHECK(pair.told >= 10'000 * (8 + FlowControl::kMessageBytes) / kWindow);
  CHECK(pair.told <= FlowControl::kToldPart * 10'000 * (8 + FlowControl::kMessageBytes) / kWindow + 1);
}

TEST_CASE("flow control: messages that lie unreceived take room, but what they leave is given back in time") {
  for (const std::size_t unreceived : {std::size_t{100}, std::size_t{300}, std::size_t{470}}) {
    CAPTURE(unreceived);
    Pair pair;
    for (std::size_t i = 0; i < unreceived; ++i) REQUIRE(pair.send(8));
    for (int i = 0; i < 5'000; ++i) {
      REQUIRE(pair.send(8));
      pair.receive(8);
    }
  }
}

TEST_CASE("flow control: what was received before does not take away from what may be sent ahead") {
  for (int before = 0; before < 500; before += 7) {
    CAPTURE(before);
    Pair pair;
    pair.pass(before);
    std::size_t room = 0;
    while (pair.send(8)) room += 8 + FlowControl::kMessageBytes;
    CHECK(room >= kWindow - 8 * (8 + FlowControl::kMessageBytes));
  }
}

TEST_CASE("flow control: who sends many in a row, and is told of nothing meanwhile, has most of the window") {
  for (int before = 0; before < 1'000; before += 7) {
    CAPTURE(before);
    Pair pair;
    pair.pass(before);
    std::size_t room = 0;
    while (pair.sender.take_room(7, 8)) room += 8 + FlowControl::kMessageBytes;
    CHECK(room >= kWindow / 8 * 7 - 2 * (8 + FlowControl::kMessageBytes));
  }
}

TEST_CASE("flow control: in any order the window is never exceeded, and who has received all gives nearly all back") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Pair pair;
    std::deque<std::size_t> there;
    std::size_t held = 0;
    for (int step = 0; step < 3000; ++step) {
      const std::size_t bytes = random.below(3000);
      if (random.below(2) == 0 && pair.send(bytes)) {
        there.push_back(bytes);
        held += bytes + FlowControl::kMessageBytes;
      } else if (!there.empty()) {
        pair.receive(there.front());
        held -= there.front() + FlowControl::kMessageBytes;
        there.pop_front();
      }
      REQUIRE(held <= kWindow);
    }
    for (; !there.empty(); there.pop_front()) pair.receive(there.front());
    std::size_t room = 0;
    while (pair.send(0)) room += FlowControl::kMessageBytes;
    CHECK(room >= kWindow - 8 * FlowControl::kMessageBytes);
  }
}

}  // namespace flow_control_test
