// Sizes and times as people write them.
#include "apps/common/units.hpp"

#include <doctest/doctest.h>

namespace units_test {

using coracle::internals::parse_bytes;
using coracle::internals::parse_duration;
using coracle::internals::parse_whole;
using namespace std::chrono_literals;

TEST_CASE("units: whole numbers are digits, within the limits") {
  CHECK(parse_whole("0", 0, 5) == 0);
  CHECK(parse_whole("5", 0, 5) == 5);
  CHECK(parse_whole("18446744073709551615", 0, ~0ULL) == ~0ULL);
  for (const char* text : {"", "6", "-1", "+1", " 1", "1 ", "1.0", "1e0", "0x1", "p", "18446744073709551616"})
    CHECK_FALSE(parse_whole(text, 0, 5).has_value());
}

TEST_CASE("units: sizes in powers of 1024") {
  CHECK(parse_bytes("17") == 17);
  CHECK(parse_bytes("4k") == 4096);
  CHECK(parse_bytes("64M") == 64 << 20);
  CHECK(parse_bytes("1.5GiB") == 3ULL << 29);
  CHECK(parse_bytes("2TB") == 2ULL << 40);
  for (const char* text : {"", "M", "-1", "0", "1X", "1 G", "1Gi", "1GBB", "0x10", "nan", "inf", "99999999999T"})
    CHECK_FALSE(parse_bytes(text).has_value());
}

TEST_CASE("units: times need a number above zero") {
  CHECK(parse_duration("30") == 30s);
  CHECK(parse_duration("30s") == 30s);
  CHECK(parse_duration("1.5ms") == 1500us);
  CHECK(parse_duration("2m") == 2min);
  CHECK(parse_duration("1h") == 1h);
  for (const char* text : {"", "s", "0", "0s", "-1s", "1d", "1 s", "1e3", "1000000h"})
    CHECK_FALSE(parse_duration(text).has_value());
}

}  // namespace units_test
