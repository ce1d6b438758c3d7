// Fault plans: what is read, what is refused with file and line, and what chance draws.
#include "transports/sim/faults.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "runtime/core/error.hpp"
#include "tests/places.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/mutate.hpp"
#include "transports/sim/schedule.hpp"

namespace fault_plan_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

JobShape shape_of(std::uint32_t size, std::uint32_t nodes) {
  JobShape shape;
  shape.placement = Placement::sim;
  shape.size = size;
  shape.nodes = nodes;
  return shape;
}

/// The message, or "" when the text is a good plan for 6 ranks on 3 nodes.
std::string refusal(std::string_view text) {
  try {
    static_cast<void>(parse_faults(text, "plan.txt", shape_of(6, 3)));
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
}

void refused(std::string_view text, const std::string& begin, const char* remedy) {
  const std::string message = refusal(text);
  CAPTURE(message);
  CHECK(message.rfind(begin, 0) == 0);
  CHECK(message.find(remedy) != std::string::npos);
}

std::string example() {
  std::ifstream file(test::in_source("networks/faults.txt"));
  REQUIRE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a fault plan is read line by line, and sorted by time") {
  const FaultPlan plan = parse_faults(
      "# a comment\n\n"
      "3ms kill node 2 # another\r\n"
      "  1.5 us   cut rank 0\tnode 1 for 2 s\n"
      "0 s stop rank 5\n"
      "7 ns reset rank 1 rank 4\n"
      "2 ms delay node 0 node 1 by 1 us",
      "plan.txt", shape_of(6, 3));
  CHECK(to_text(plan) ==
        "0 s stop rank 5\n"
        "7 ns reset rank 1 rank 4\n"
        "1500 ns cut rank 0 node 1 for 2 s\n"
        "2 ms delay node 0 node 1 by 1 us\n"
        "3 ms kill node 2\n");
  CHECK(plan[0].for_ns == Fault::kForEver);
  CHECK(plan[2].for_ns == 2'000'000'000);
  CHECK(plan[3].delay_ns == 1000);
}

TEST_CASE("what is wrong in a fault plan is told with file, line and remedy") {
  refused("1 ms kill rank 0\nsoon kill rank 1", "plan.txt:2: expected the time of the fault in place of 'soon kill",
          "2 ms kill");
  refused("1 hour kill rank 0", "plan.txt:1: expected one of the units ns, us, ms, s in place of 'hour'", "2 ms kill");
  refused("-1 ms kill rank 0", "plan.txt:1: the time of the fault must be from 0 to 3600 s", "2 ms kill");
  refused("1e9 s kill rank 0", "plan.txt:1: the time of the fault must be from 0", "2 ms kill");
  refused("nan ms kill rank 0", "plan.txt:1: expected the time", "2 ms kill");
  refused("1 ms", "plan.txt:1: unknown fault ''", "there are kill, stop, cut, reset, delay");
  refused("1 ms explode rank 0", "plan.txt:1: unknown fault 'explode'", "there are kill, stop, cut, reset, delay");
  refused("1 ms kill 3", "plan.txt:1: expected `rank` or `node` and a number in place of '3'", "kill rank 3");
  refused("1 ms kill rank x", "plan.txt:1: expected the number of a rank in place of 'x'", "kill rank 3");
  refused("1 ms kill rank 6", "plan.txt:1: there is no rank 6: the job has 0 to 5", "kill rank 3");
  refused("\n\n1 ms stop node 3", "plan.txt:3: there is no node 3: the job has 0 to 2", "stop node 1 for 5 ms");
  refused("1 ms kill rank 1 for 3 ms", "plan.txt:1: 'for 3 ms' is more than a fault needs", "kill rank 3");
  refused("1 ms cut rank 1", "plan.txt:1: expected `rank` or `node` and a number in place of ''", "cut rank 0 node 1");
  refused("1 ms cut rank 1 rank 1", "plan.txt:1: the two parties have ranks in common", "name two");
  refused("1 ms cut rank 2 node 1", "plan.txt:1: the two parties have ranks in common", "name two");
  refused("1 ms cut rank 1 rank 2 until 3 ms", "plan.txt:1: expected `for` in place of 'until'", "for 5 ms");
  refused("1 ms delay rank 1 rank 2 for 3 ms", "plan.txt:1: expected `by` in place of 'for'", "by 1 ms");
  refused("1 ms delay rank 1 rank 2 by much", "plan.txt:1: expected how much later all comes in place of 'much'",
          "by 1 ms");
}

TEST_CASE("a fault plan comes from nowhere, from the seed, or from a file that can be read") {
  JobShape shape = shape_of(3, 2);
  CHECK(read_faults("", shape).empty());
  CHECK(read_faults(test::in_source("networks/faults.txt"), shape).size() == 5);
  shape.seed = 5;
  const std::string first = to_text(read_faults("random", shape));
  CHECK(first == to_text(read_faults("random", shape)));
  CHECK_THROWS_WITH_AS(static_cast<void>(read_faults("/nowhere/plan.txt", shape)),
                       doctest::Contains("can't open the fault plan /nowhere/plan.txt"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(read_faults("/dev/zero", shape)), doctest::Contains("too large"), Error);
}

TEST_CASE("random plans are of all kinds, differ from seed to seed, and can be written down, for 2,000 seeds") {
  const JobShape shape = shape_of(6, 3);
  std::set<std::string> plans;
  std::set<Fault::Kind> kinds;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    const FaultPlan plan = random_faults(seed, 1'000'000, shape);
    const std::string text = to_text(plan);
    plans.insert(text);
    for (const Fault& fault : plan) {
      kinds.insert(fault.kind);
      CHECK(fault.at_ns <= 1'000'000);
    }
    REQUIRE(refusal(text) == "");
    REQUIRE(to_text(parse_faults(text, "again", shape)) == text);
  }
  CHECK(plans.size() > 1800);  // some are empty, or the shortest there are
  CHECK(kinds.size() == 5);
}

TEST_CASE("mutated fault plans are read or refused with a line, for thousands of seeds") {
  const std::string good = example();
  const std::string_view letters = "=#.0123456789eE+-nusmkilrankode \t\n\r";
  const test::Seeds seeds("CORACLE_FAULT_PLAN_SEEDS", 5000);
  std::uint64_t read = 0;
  for (const std::uint64_t seed : seeds) {
    INFO(seeds.repeat(seed));
    Random random(seed);
    const std::string message = refusal(test::mutate(good, random, letters));
    if (message.empty())
      ++read;
    else
      REQUIRE(message.rfind("plan.txt:", 0) == 0);
  }
  if (!seeds.are_many()) return;
  CHECK(read > seeds.size() / 10);  // comments are most of the file
  CHECK(read < seeds.size() - seeds.size() / 10);
}

}  // namespace fault_plan_test
