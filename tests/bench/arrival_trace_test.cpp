// Reading recorded traces of arrival: what is right, what is wrong and what is said then, and thousands of damaged
// ones.
#include "apps/bench/arrival/arrivals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "runtime/core/error.hpp"
#include "tests/places.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/mutate.hpp"

namespace arrival_trace_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::bench;

namespace {

constexpr const char* kGood =
    "# two iterations of three ranks\n"
    "unit = us   # microseconds\n"
    "ranks = 3\n"
    "\n"
    "0 1.5 20\n"
    "3\t0   0.25 # rank 1 was first\r\n";

std::string complaint(const std::string& text) {
  try {
    parse_arrival_trace(text, "trace");
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const char* part) {
  const std::string said = complaint(text);
  CAPTURE(said);
  return said.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("arrival trace: delays of iterations and ranks, in any of three units") {
  const ArrivalTrace trace = parse_arrival_trace(kGood, "trace");
  CHECK(trace.ranks == 3);
  CHECK(trace.iterations() == 2);
  CHECK(trace.delays_ns == std::vector<double>{0, 1500, 20'000, 3000, 0, 250});
  CHECK(parse_arrival_trace("ranks = 1\nunit = ms\n2", "trace").delays_ns == std::vector<double>{2e6});
  CHECK(parse_arrival_trace("ranks = 1\nunit = ns\n2\n", "trace").delays_ns == std::vector<double>{2});
}

TEST_CASE("arrival trace: what is wrong is said with the line and how to mend it") {
  CHECK(says("", "trace:0: there is no iteration"));
  CHECK(says("unit = us\nranks = 2\n", "there is no iteration"));
  CHECK(says("1 2\n", "trace:1: delays before it is said what they are"));
  CHECK(says("unit = us\n1 2\n", "trace:2: delays before it is said what they are"));
  CHECK(says("unit = s\n", "trace:1: unit = 's': must be ns, us or ms"));
  CHECK(says("unit = us\nunit = us\n", "trace:2: the unit is given already"));
  CHECK(says("ranks = 0\n", "ranks = '0': must be a number from 1"));
  CHECK(says("ranks = 3x\n", "must be a number from 1"));
  CHECK(says("ranks = 99999999999\n", "must be a number from 1"));
  CHECK(says("ranks = 2\nranks = 2\n", "trace:2: the number of ranks is given already"));
  CHECK(says("size = 2\n", "unknown key 'size'; there are unit, ranks"));
  CHECK(says("unit = us\nranks = 2\n1 2\nunit = ns\n", "trace:4: 'unit' must come before the delays"));
  CHECK(says("unit = us\nranks = 2\n1\n", "trace:3: 1 delays, but `ranks = 2`"));
  CHECK(says("unit = us\nranks = 2\n1 2 3\n", "trace:3: 3 delays, but `ranks = 2`"));
  CHECK(says("unit = us\nranks = 2\n1 x\n", "trace:3: 'x' is not a number"));
  CHECK(says("unit = us\nranks = 2\n1 nan\n", "is not a number"));
  CHECK(says("unit = us\nranks = 2\n1 -1\n", "a delay of '-1': must be from 0 to an hour"));
  CHECK(says("unit = ms\nranks = 1\n3600001\n", "must be from 0 to an hour"));
  CHECK(says("unit = us\nranks = 2\n0 0\n", "nobody is ever late"));
  CHECK_THROWS_WITH_AS(read_arrival_trace("/does/not/exist"), doctest::Contains("/does/not/exist"), Error);
  CHECK_THROWS_AS(read_arrival_trace("/"), Error);
}

TEST_CASE("arrival trace: the one in the tree is good") {
  const ArrivalTrace trace = read_arrival_trace(test::in_source("networks/arrivals.txt"));
  CHECK(trace.ranks >= 4);
  CHECK(trace.iterations() >= 50);
}

TEST_CASE("arrival trace: whatever the text, it is read or refused with its name and line") {
  const test::Seeds seeds("CORACLE_ARRIVAL_TRACE_SEEDS", 20'000);
  int good = 0;
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    sim::Random random(seed);
    const std::string text = test::mutate(kGood, random, "0123456789.-+e= \t\n#usnmranksit");
    try {
      const ArrivalTrace trace = parse_arrival_trace(text, "trace");
      ++good;
      REQUIRE(trace.ranks >= 1);
      REQUIRE(trace.delays_ns.size() == trace.iterations() * trace.ranks);
      REQUIRE(trace.iterations() >= 1);
      for (const double delay : trace.delays_ns) REQUIRE((delay >= 0 && delay <= 3.6e12));
    } catch (const Error& error) {
      REQUIRE(error.code() == Errc::bad_input);
      REQUIRE(std::string(error.what()).find("trace:") != std::string::npos);
    }
  }
  CHECK((good > 100 || !seeds.are_many()));
}

}  // namespace arrival_trace_test
