// MessageRooms: which room is next, and when messages go by them.
#include "runtime/messages/message_rooms.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <memory>

namespace message_rooms_test {

using coracle::internals::JobRegion;
using coracle::internals::MessageRooms;

TEST_CASE("message rooms: the one that was read last is written next, and there may be none") {
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(JobRegion::kMessageRooms * MessageRooms::kRoomBytes);
  MessageRooms rooms(memory.get());
  for (std::size_t i = 0; i < JobRegion::kMessageRooms; ++i) {
    CHECK(rooms.take() != nullptr);
    rooms.gone();
  }
  CHECK(rooms.take() == nullptr);
  std::array<std::byte, 2> others{};
  CHECK(rooms.accept(&others[0]));
  CHECK(rooms.accept(&others[1]));
  CHECK(rooms.take() == &others[1]);
  rooms.come_back(&others[1]);
  CHECK(rooms.take() == &others[1]);
  CHECK(rooms.take() == &others[0]);
  CHECK(rooms.take() == nullptr);
  MessageRooms none(nullptr);
  CHECK(none.take() == nullptr);
}

TEST_CASE("message rooms: who only receives has enough at some time, and those that are under way count") {
  MessageRooms rooms(nullptr);
  std::array<std::byte, 100> others{};
  std::size_t accepted = 0;
  for (std::byte& room : others) accepted += rooms.accept(&room) ? 1 : 0;
  CHECK(accepted > 0);
  CHECK(accepted < others.size());
  std::byte* const room = rooms.take();
  CHECK_FALSE(rooms.accept(&others[99]));
  rooms.come_back(room);
  CHECK_FALSE(rooms.accept(&others[99]));
  CHECK(rooms.take() == room);
  rooms.gone();
  CHECK(rooms.accept(&others[99]));
}

TEST_CASE("message rooms: they are worth it while buffers are written to, and some messages go without") {
  constexpr std::size_t kBytes = 64 * 1024;
  constexpr std::uint64_t kWarmNs = 2'000;
  constexpr std::uint64_t kColdNs = 10'000;
  MessageRooms rooms(nullptr);
  CHECK_FALSE(rooms.are_worth_it());
  for (int i = 0; i < 3; ++i) rooms.was_read(kBytes, kColdNs);
  int without = 0;
  for (int i = 0; i < 100; ++i) without += rooms.are_worth_it() ? 0 : 1;
  CHECK(without >= 2);
  CHECK(without <= 5);
  SUBCASE("nobody writes any more") {
    for (int i = 0; i < 3; ++i) rooms.was_read(kBytes, kWarmNs);
    CHECK_FALSE(rooms.are_worth_it());
  }
  SUBCASE("nothing comes any more that could tell") {
    for (int i = 0; i < 1000; ++i) rooms.are_worth_it();
    CHECK_FALSE(rooms.are_worth_it());
  }
  SUBCASE("one that was slow by chance tells nothing") {
    MessageRooms others(nullptr);
    others.was_read(kBytes, kColdNs);
    CHECK_FALSE(others.are_worth_it());
  }
}

}  // namespace message_rooms_test
