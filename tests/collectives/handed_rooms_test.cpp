// HandedRooms: who has which room, when data goes both ways and one way.
#include "runtime/team/handed_rooms.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <set>

namespace handed_rooms_test {

using coracle::internals::HandedRooms;

namespace {

constexpr std::size_t kRoomBytes = 4096;
constexpr std::size_t kRooms = HandedRooms::kRoomsOfEach;

struct Two {
  std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(2 * kRooms * kRoomBytes);
  HandedRooms first{memory.get(), memory.get() + kRooms* kRoomBytes, kRoomBytes};
  HandedRooms second{memory.get() + kRooms * kRoomBytes, memory.get(), kRoomBytes};
};

}  // namespace

TEST_CASE("handed rooms: what one has read last is what it gives next") {
  Two two;
  std::byte* const room = two.first.take(kRoomBytes);
  REQUIRE(room != nullptr);
  CHECK(two.second.has(room));
  two.second.keep(room);
  CHECK(two.second.next() == room);
  CHECK(two.second.take(1) == room);
}

TEST_CASE("handed rooms: who gives alone has none in the end, and no room is in two hands") {
  Two two;
  std::set<std::byte*> given;
  for (std::size_t i = 0; i < kRooms; ++i) {
    std::byte* const room = two.first.take(kRoomBytes);
    REQUIRE(room != nullptr);
    CHECK(given.insert(room).second);
    two.second.keep(room);
  }
  CHECK(two.first.take(1) == nullptr);
  CHECK(two.first.next() == nullptr);
  for (std::size_t i = 0; i < 2 * kRooms; ++i) {
    std::byte* const room = two.second.take(kRoomBytes);
    REQUIRE(room != nullptr);
    CHECK(given.insert(room).second == (i >= kRooms));
  }
  CHECK(two.second.take(1) == nullptr);
}

TEST_CASE("handed rooms: what is too long for one, and what lies elsewhere") {
  Two two;
  CHECK(two.first.take(kRoomBytes + 1) == nullptr);
  CHECK(two.first.take(kRoomBytes) != nullptr);
  CHECK(two.first.has(two.memory.get()));
  CHECK(two.first.has(two.memory.get() + 2 * kRooms * kRoomBytes - 1));
  CHECK_FALSE(two.first.has(two.memory.get() + 2 * kRooms * kRoomBytes));
  CHECK_FALSE(two.first.has(nullptr));
  HandedRooms none;
  CHECK(none.take(0) == nullptr);
  CHECK_FALSE(none.has(nullptr));
  CHECK_FALSE(none.has(two.memory.get()));
}

TEST_CASE("handed rooms: they take an eighth of an arena at most, and nothing of a small one") {
  CHECK(HandedRooms::room_bytes_of(8 * 1024) == 0);
  CHECK(HandedRooms::room_bytes_of(64 * 1024) == 4 * 1024);
  CHECK(HandedRooms::room_bytes_of(std::size_t{1} << 30) == 256 * 1024);
  for (std::size_t bytes = 0; bytes < 1 << 20; bytes += 4096) {
    const std::size_t rooms = kRooms * HandedRooms::room_bytes_of(bytes);
    CHECK(8 * rooms <= bytes);
    CHECK(rooms % 64 == 0);
  }
}

}  // namespace handed_rooms_test
