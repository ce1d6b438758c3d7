// Which buffers of peers are kept for answers, and whether there will be any.
#include "transports/direct/piggyback_buffers.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace piggyback_buffers_test {

using namespace coracle::internals::direct;

TEST_CASE("piggyback buffers are likely while messages are followed by others to where they came from") {
  PiggybackBuffers buffers;
  for (int i = 0; i < 5; ++i) {
    buffers.came_from(3);
    buffers.goes_to(4);
    buffers.goes_to(3);
    buffers.goes_to(3);  // the second in a row answers nothing
    buffers.idle();
    CHECK(buffers.are_likely() == (i >= 1));
  }
  buffers.came_from(3);
  buffers.goes_to(4);
  buffers.idle();
  buffers.idle();
  CHECK(buffers.are_likely());
  buffers.came_from(3);
  buffers.idle();
  CHECK_FALSE(buffers.are_likely());
}

TEST_CASE(
    "piggyback buffers: messages are buffered while their buffers are found written to, and some not, to find out") {
  constexpr std::size_t kBytes = 6400;  // 100 lines
  PiggybackBuffers buffers;
  for (int i = 0; i < 100; ++i) CHECK_FALSE(buffers.cold_reads().should_be_copied());
  unsigned timed = 0;
  for (int i = 0; i < 80; ++i)
    if (buffers.cold_reads().wants_time()) {
      ++timed;
      buffers.cold_reads().was_read(kBytes, 250);
    }
  CHECK(timed == 10);
  CHECK_FALSE(buffers.cold_reads().should_be_copied());
  buffers.cold_reads().was_read(kBytes, 1500);
  CHECK_FALSE(buffers.cold_reads().should_be_copied());  // one alone may have been interrupted
  CHECK(buffers.cold_reads().wants_time());              // but then the next is looked at
  buffers.cold_reads().was_read(kBytes, 1500);
  buffers.cold_reads().was_read(kBytes, 1500);
  const auto buffered_of = [&buffers](int messages) {
    int buffered = 0;
    for (int i = 0; i < messages; ++i) buffered += buffers.cold_reads().should_be_copied() ? 1 : 0;
    return buffered;
  };
  CHECK(buffered_of(128) == 124);
  buffers.cold_reads().was_read(kBytes, 250);
  CHECK(buffered_of(128) == 124);
  buffers.cold_reads().was_read(kBytes, 250);
  CHECK(buffered_of(128) == 0);
  // As long as such come.
  buffers.cold_reads().was_fetched();
  CHECK(buffered_of(128) == 124);
  CHECK(buffered_of(128) < 2);
  CHECK_FALSE(buffers.cold_reads().should_be_copied());
}

TEST_CASE("piggyback buffers: of a peer's buffers the latest is given out, the others stay in order") {
  std::array<std::byte, BufferedSends::kBuffers> memory;
  PiggybackBuffers buffers;
  CHECK(buffers.of(1) == nullptr);
  for (std::uint32_t i = 0; i < BufferedSends::kBuffers; ++i) {
    CHECK_FALSE(buffers.full());
    buffers.keep({i % 2, i, &memory[i]});
  }
  CHECK(buffers.full());
  const PiggybackBuffers::Buffer* latest = buffers.of(0);
  REQUIRE(latest != nullptr);
  CHECK(latest->operation == BufferedSends::kBuffers - 2);
  CHECK(latest->memory == &memory[BufferedSends::kBuffers - 2]);
  buffers.remove(*latest);
  CHECK_FALSE(buffers.full());
  REQUIRE(buffers.kept().size() == BufferedSends::kBuffers - 1);
  for (std::uint32_t i = 0; i < BufferedSends::kBuffers - 2; ++i) CHECK(buffers.kept()[i].operation == i);
  CHECK(buffers.kept().back().operation == BufferedSends::kBuffers - 1);
  CHECK(buffers.of(2) == nullptr);
  buffers.clear();
  CHECK(buffers.of(0) == nullptr);
}

}  // namespace piggyback_buffers_test
