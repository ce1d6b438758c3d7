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
    EntryHeader* entry = nullptr;
    while ((entry = ring.reserve(lines)) == nullptr) ::sched_yield();
    entry->payload_bytes = static_cast<std::uint32_t>(bytes);
    entry->source = sender;
    entry->type = EntryType::eager;
    entry->handler = number;
    for (std::size_t i = 0; i < bytes; ++i) entry->body()[i] = content(sender, number, i);
    if (number % 2 == 0)
      Ring::publish(*entry, lines);
    else
      Ring::publish_lightly(*entry, lines);
  }
}

void check_message(EntryHeader& entry, std::vector<std::uint32_t>& next_number) {
  const auto number = static_cast<std::uint32_t>(entry.handler);
  REQUIRE(entry.source < next_number.size());
  REQUIRE(number == next_number[entry.source]++);
  bool whole = true;
  for (std::size_t i = 0; i < entry.payload_bytes; ++i)
    whole = whole && entry.body()[i] == content(entry.source, number, i);
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
    EntryHeader* entry = ring->front();
    if (entry == nullptr) {
      if (ring->owed() > 0) ring->give_back();
      ::sched_yield();
      continue;
    }
    check_message(*entry, next_number);
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
  while (EntryHeader* entry = ring->reserve(1)) {
    entry->type = EntryType::eager;
    Ring::publish(*entry, 1);
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
    EntryHeader* entry = ring->reserve(lines);
    REQUIRE(entry != nullptr);
    entry->type = EntryType::eager;
    entry->handler = round;
    std::memset(entry->body(), 0xff, lines * kLineBytes - sizeof(EntryHeader));  // every later first word is not zero
    Ring::publish(*entry, lines);
    EntryHeader* front = ring->front();
    REQUIRE(front == entry);
    CHECK(front->handler == round);
    ring->pop();
    CHECK(ring->front() == nullptr);
    ring->give_back();
  }
}

}  // namespace ring_test
