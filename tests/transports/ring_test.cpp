// The ring of messages under many senders: nothing lost, doubled or torn, also when it is full most of the time.
#include "transports/direct/ring.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace ring_test {

using namespace coracle::internals::direct;

namespace {

/// A ring as the job's region would hold it: zero.
std::unique_ptr<Ring> make_ring() {
  return std::unique_ptr<Ring>(new Ring{});  // value-initialised
}

std::byte content(std::uint32_t sender, std::uint32_t number, std::size_t place) {
  return static_cast<std::byte>(sender * 97 + number * 31 + place);
}

void send_all(Ring& ring, std::uint32_t sender, std::uint32_t count) {
  std::mt19937 random(sender);
  for (std::uint32_t number = 0; number < count; ++number) {
    // Mostly single lines; now and then a quarter of the ring, so that the end of the array is met in every way.
    const std::size_t bytes = random() % 50 == 0 ? random() % (kRingLines * kLineBytes / 4) : random() % 200;
    const std::uint32_t lines = Ring::lines_for(bytes);
    Slot* slot = nullptr;
    while ((slot = ring.reserve(lines)) == nullptr) ::sched_yield();
    slot->payload_bytes = static_cast<std::uint32_t>(bytes);
    slot->source = sender;
    slot->kind = Kind::eager;
    slot->handler = number;
    for (std::size_t i = 0; i < bytes; ++i) slot->body()[i] = content(sender, number, i);
    Ring::publish(*slot, lines);
  }
}

void check_message(Slot& slot, std::vector<std::uint32_t>& next_number) {
  const auto number = static_cast<std::uint32_t>(slot.handler);
  REQUIRE(slot.source < next_number.size());
  REQUIRE(number == next_number[slot.source]++);
  bool whole = true;
  for (std::size_t i = 0; i < slot.payload_bytes; ++i)
    whole = whole && slot.body()[i] == content(slot.source, number, i);
  REQUIRE(whole);
}

}  // namespace

TEST_CASE("ring: messages of several senders arrive whole, once, and in each sender's order") {
  constexpr std::uint32_t kSenders = 3;
  constexpr std::uint32_t kCount = 5000;
  const auto ring = make_ring();
  std::vector<std::thread> senders;
  for (std::uint32_t sender = 0; sender < kSenders; ++sender)
    senders.emplace_back([&ring, sender] { send_all(*ring, sender, kCount); });
  std::vector<std::uint32_t> next_number(kSenders);
  for (std::uint32_t received = 0; received < kSenders * kCount;) {
    Slot* slot = ring->front();
    if (slot == nullptr) {
      if (ring->owed() > 0) ring->give_back();
      ::sched_yield();
      continue;
    }
    check_message(*slot, next_number);
    ring->pop();
    ++received;
    if (received % 7 == 0) ring->give_back();
  }
  for (auto& sender : senders) sender.join();
  CHECK(ring->front() == nullptr);
}

TEST_CASE("ring: a full ring refuses, and takes again what was given back") {
  const auto ring = make_ring();
  std::uint32_t taken = 0;
  while (Slot* slot = ring->reserve(1)) {
    slot->kind = Kind::eager;
    Ring::publish(*slot, 1);
    ++taken;
  }
  CHECK(taken == kRingLines);
  CHECK(ring->reserve(1) == nullptr);
  ring->mark_starved();
  REQUIRE(ring->front() != nullptr);
  ring->pop();
  CHECK(ring->reserve(1) == nullptr);  // consumed, but not given back yet
  CHECK(ring->give_back());            // somebody starved
  CHECK_FALSE(ring->give_back());
  CHECK(ring->reserve(2) == nullptr);
  CHECK(ring->reserve(1) != nullptr);
}

TEST_CASE("ring: a message never wraps around the end; padding is skipped unseen") {
  const auto ring = make_ring();
  const std::uint32_t lines = kRingLines / 3;  // three of them leave one line at the end
  for (int round = 0; round < 20; ++round) {
    Slot* slot = ring->reserve(lines);
    REQUIRE(slot != nullptr);
    slot->kind = Kind::eager;
    slot->handler = round;
    std::memset(slot->body(), 0xff, lines * kLineBytes - sizeof(Slot));  // every later first word is not zero
    Ring::publish(*slot, lines);
    Slot* front = ring->front();
    REQUIRE(front == slot);
    CHECK(front->handler == round);
    ring->pop();
    CHECK(ring->front() == nullptr);
    ring->give_back();
  }
}

}  // namespace ring_test
