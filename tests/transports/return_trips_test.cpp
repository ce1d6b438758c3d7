// Which slots of peers are kept for answers, and whether there will be any.
#include "transports/direct/return_trips.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace return_trips_test {

using namespace coracle::internals::direct;

TEST_CASE("return trips are likely while messages are followed by others to where they came from") {
  ReturnTrips trips;
  for (int i = 0; i < 5; ++i) {
    trips.came_from(3);
    trips.goes_to(4);
    trips.goes_to(3);
    trips.goes_to(3);  // the second in a row answers nothing
    trips.idle();
    CHECK(trips.are_likely() == (i >= 1));
  }
  trips.came_from(3);
  trips.goes_to(4);
  trips.idle();
  trips.idle();
  CHECK(trips.are_likely());
  trips.came_from(3);
  trips.idle();
  CHECK_FALSE(trips.are_likely());
}

TEST_CASE("return trips: messages are staged while their buffers are found written to, and some not, to find out") {
  constexpr std::size_t kBytes = 6400;  // 100 lines
  ReturnTrips trips;
  for (int i = 0; i < 100; ++i) CHECK_FALSE(trips.should_be_staged());
  unsigned timed = 0;
  for (int i = 0; i < 80; ++i)
    if (trips.wants_time()) {
      ++timed;
      trips.was_read(kBytes, 250);
    }
  CHECK(timed == 10);
  CHECK_FALSE(trips.should_be_staged());
  trips.was_read(kBytes, 1500);
  CHECK_FALSE(trips.should_be_staged());  // one alone may have been interrupted
  CHECK(trips.wants_time());              // but then the next is looked at
  trips.was_read(kBytes, 1500);
  trips.was_read(kBytes, 1500);
  const auto staged_of = [&trips](int messages) {
    int staged = 0;
    for (int i = 0; i < messages; ++i) staged += trips.should_be_staged() ? 1 : 0;
    return staged;
  };
  CHECK(staged_of(128) == 124);
  trips.was_read(kBytes, 250);
  CHECK(staged_of(128) == 124);
  trips.was_read(kBytes, 250);
  CHECK(staged_of(128) == 0);
  // As long as such come.
  trips.was_fetched();
  CHECK(staged_of(128) == 124);
  CHECK(staged_of(128) < 2);
  CHECK_FALSE(trips.should_be_staged());
}

TEST_CASE("return trips: of a peer's slots the latest is given out, the others stay in order") {
  std::array<std::byte, StagedSends::kSlots> memory;
  ReturnTrips trips;
  CHECK(trips.of(1) == nullptr);
  for (std::uint32_t i = 0; i < StagedSends::kSlots; ++i) {
    CHECK_FALSE(trips.full());
    trips.keep({i % 2, i, &memory[i]});
  }
  CHECK(trips.full());
  const ReturnTrips::Slot* latest = trips.of(0);
  REQUIRE(latest != nullptr);
  CHECK(latest->operation == StagedSends::kSlots - 2);
  CHECK(latest->memory == &memory[StagedSends::kSlots - 2]);
  trips.remove(*latest);
  CHECK_FALSE(trips.full());
  REQUIRE(trips.kept().size() == StagedSends::kSlots - 1);
  for (std::uint32_t i = 0; i < StagedSends::kSlots - 2; ++i) CHECK(trips.kept()[i].operation == i);
  CHECK(trips.kept().back().operation == StagedSends::kSlots - 1);
  CHECK(trips.of(2) == nullptr);
  trips.clear();
  CHECK(trips.of(0) == nullptr);
}

}  // namespace return_trips_test
