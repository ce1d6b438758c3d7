// MessageRooms: which room is next, and when messages go by them.
#include "runtime/messages/message_rooms.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <set>

namespace message_rooms_test {

using coracle::internals::JobRegion;
using coracle::internals::MessageRooms;

namespace {

struct Memory {
  std::unique_ptr<std::byte[]> bytes =
      std::make_unique_for_overwrite<std::byte[]>(JobRegion::kMessageRooms * MessageRooms::kRoomBytes);
};

}  // namespace

TEST_CASE("message rooms: the one that was read last is written next, and there may be none") {
  const Memory memory;
  MessageRooms rooms(memory.bytes.get());
  std::byte* const first = rooms.take();
  REQUIRE(first != nullptr);
  rooms.put_back(first);
  CHECK(rooms.take() == first);
  for (std::size_t i = 1; i < JobRegion::kMessageRooms; ++i) CHECK(rooms.take() != nullptr);
  CHECK(rooms.take() == nullptr);
  MessageRooms none(nullptr);
  CHECK(none.take() == nullptr);
}

TEST_CASE("message rooms: each rank keeps as many, and none is in two hands, whichever way messages go") {
  const Memory memory;
  const Memory others;
  MessageRooms here(memory.bytes.get());
  MessageRooms there(others.bytes.get());
  std::set<std::byte*> all;
  const auto send = [&all](MessageRooms& from, MessageRooms& to) {
    std::byte* const room = from.take();
    if (room == nullptr) return room;
    all.insert(room);
    from.get(to.exchange(room));
    return room;
  };
  // Who sends alone has none any more that it has read itself.
  std::size_t sent = 0;
  while (send(here, there) != nullptr) ++sent;
  CHECK(sent == JobRegion::kMessageRooms);
  std::byte* const room = send(there, here);
  REQUIRE(room != nullptr);
  for (int i = 0; i < 20; ++i) {
    CHECK(send(here, there) == room);
    CHECK(send(there, here) == room);
  }
  std::size_t from_there = 0;
  while (send(there, here) != nullptr) ++from_there;
  CHECK(from_there == JobRegion::kMessageRooms - 1);
  CHECK(all.size() <= 2 * JobRegion::kMessageRooms);
}

TEST_CASE("message rooms: whose own are all under way gives back the one that has come") {
  const Memory memory;
  MessageRooms rooms(memory.bytes.get());
  while (rooms.take() != nullptr) {
  }
  std::byte other{};
  CHECK(rooms.exchange(&other) == &other);
}

TEST_CASE("message rooms: they are worth it while buffers are written to, and some messages go without") {
  constexpr std::size_t kBytes = 64 * 1024;
  constexpr std::uint64_t kWarmNs = 2'000;
  constexpr std::uint64_t kColdNs = 10'000;
  MessageRooms rooms(nullptr);
  CHECK_FALSE(rooms.cold_reads().should_be_copied());
  for (int i = 0; i < 3; ++i) rooms.cold_reads().was_read(kBytes, kColdNs);
  int without = 0;
  for (int i = 0; i < 100; ++i) without += rooms.cold_reads().should_be_copied() ? 0 : 1;
  CHECK(without >= 2);
  CHECK(without <= 5);
  SUBCASE("nobody writes any more") {
    for (int i = 0; i < 3; ++i) rooms.cold_reads().was_read(kBytes, kWarmNs);
    CHECK_FALSE(rooms.cold_reads().should_be_copied());
  }
  SUBCASE("nothing comes any more that could tell") {
    for (int i = 0; i < 1000; ++i) rooms.cold_reads().should_be_copied();
    CHECK_FALSE(rooms.cold_reads().should_be_copied());
  }
  SUBCASE("one that was slow by chance tells nothing") {
    MessageRooms others(nullptr);
    others.cold_reads().was_read(kBytes, kColdNs);
    CHECK_FALSE(others.cold_reads().should_be_copied());
  }
}

}  // namespace message_rooms_test
