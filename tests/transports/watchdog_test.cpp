// How long a peer has not answered, whatever time its answers take.
#include <doctest/doctest.h>

#include "transports/tcp/watchdog.hpp"

namespace coracle::internals::tcp {

namespace {

/// Silent and asked at all looks of [first, last].
void ask(Doubt& doubt, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t look = first; look <= last; ++look) {
    doubt.silent_at(look);
    doubt.asked();
  }
}

}  // namespace

TEST_CASE("a launcher that answers late, as one does beside much load, has answered") {
  Doubt doubt;
  ask(doubt, 1, 7);
  CHECK(doubt.unanswered() == 7);
  REQUIRE(doubt.answered(4, 8));
  CHECK(doubt.unanswered() == 3);  // 5, 6 and 7
  REQUIRE(doubt.answered(7, 8));
  CHECK(doubt.unanswered() == 0);
  REQUIRE(doubt.answered(5, 8));  // overtaken on its way
  CHECK(doubt.unanswered() == 0);
}

TEST_CASE("an answer tells nothing of questions that came after it") {
  Doubt doubt;
  ask(doubt, 11, 20);
  for (int time = 0; time < 10; ++time) REQUIRE(doubt.answered(11, 21));
  CHECK(doubt.unanswered() == 9);
}

TEST_CASE("what was asked in an earlier silence does not count in this one") {
  Doubt doubt;
  ask(doubt, 1, 3);
  ask(doubt, 6, 8);
  CHECK(doubt.unanswered() == 3);
  CHECK_FALSE(doubt.answered(2, 9));
  CHECK_FALSE(doubt.answered(9, 9));  // never asked
  CHECK(doubt.unanswered() == 3);
}

}  // namespace coracle::internals::tcp
