// Delays: drawn as their distribution says, and what they cost in closed form beside what they cost when tried.
#include "apps/bench/arrival/arrivals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bench_arrivals_test {

using namespace coracle::internals::bench;

namespace {

constexpr std::uint64_t kTries = 200'000;

ArrivalTrace trace_of_three() {
  return {3, {0, 10, 20, 5, 0, 1, 40, 0, 0, 0, 2, 2}};
}

/// Ranks of nodes: leader `node` of several competitors each, for the closed forms' assumptions.
double first_of(const Arrivals& arrivals, std::uint32_t node, std::uint32_t competitors, std::uint64_t iteration) {
  double first = 1e9;
  for (std::uint32_t i = 0; i < competitors; ++i)
    first = std::min(first, arrivals.delay(1000 + node * competitors + i, iteration));
  return first;
}

struct Tried {
  double reach = 0;
  double wait = 0;
  double first = 0;
};

Tried try_out(const Arrivals& arrivals, std::uint32_t leaders, std::uint32_t competitors) {
  Tried sum;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    const double root = arrivals.delay(0, i);
    const double own = arrivals.delay(1, i);
    double latest = root;
    for (std::uint32_t node = 0; node < leaders; ++node)
      latest = std::max(latest, first_of(arrivals, node, competitors, i));
    sum.reach += latest - root;
    sum.wait += std::max(0.0, latest - own);
    sum.first += first_of(arrivals, 0, competitors, i);
  }
  return {sum.reach / kTries, sum.wait / kTries, sum.first / kTries};
}

}  // namespace

TEST_CASE("arrivals: closed forms of uniform delays") {
  const Arrivals uniform("uniform", 1);
  CHECK(expected_reach(uniform, 1, 1) == doctest::Approx(1.0 / 6).epsilon(1e-4));
  for (const std::uint32_t n : {2U, 4U, 8U})
    CHECK(expected_reach(uniform, 1, n) == doctest::Approx(1.0 / (n + 1) / (n + 2)).epsilon(1e-4));
  for (const std::uint32_t hops : {1U, 2U, 4U, 15U}) {
    CHECK(expected_reach(uniform, hops, 1) == doctest::Approx((hops + 1.0) / (hops + 2) - 0.5).epsilon(1e-4));
    CHECK(expected_wait(uniform, hops, 1) == doctest::Approx(0.5 - 1.0 / (hops + 3)).epsilon(1e-4));
  }
  CHECK(expected_wait(uniform, 0, 1) == doctest::Approx(1.0 / 6).epsilon(1e-4));
  CHECK(expected_reach(uniform, 0, 1) == doctest::Approx(0));
  for (const std::uint32_t n : {1U, 4U, 8U})
    CHECK(expected_first(uniform, n) == doctest::Approx(1.0 / (n + 1)).epsilon(1e-4));
}

TEST_CASE("arrivals: every distribution has the mean 1/2, and its closed forms are what comes out when it is tried") {
  for (const Arrivals& arrivals : {Arrivals("uniform", 7), Arrivals("exponential", 7)}) {
    CAPTURE(arrivals.source());
    double sum = 0;
    double below = 0;
    for (std::uint64_t i = 0; i < kTries; ++i) {
      const double delay = arrivals.delay(5, i);
      REQUIRE((delay >= 0 && delay <= arrivals.longest()));
      sum += delay;
      below += delay <= 0.3 ? 1 : 0;
    }
    CHECK(sum / kTries == doctest::Approx(0.5).epsilon(0.01));
    CHECK(below / kTries == doctest::Approx(arrivals.likely(0.3)).epsilon(0.01));
    for (const std::uint32_t leaders : {1U, 4U}) {
      for (const std::uint32_t competitors : {1U, 4U}) {
        CAPTURE(leaders);
        CAPTURE(competitors);
        const Tried tried = try_out(arrivals, leaders, competitors);
        CHECK(tried.reach == doctest::Approx(expected_reach(arrivals, leaders, competitors)).epsilon(0.03));
        CHECK(tried.wait == doctest::Approx(expected_wait(arrivals, leaders, competitors)).epsilon(0.03));
        CHECK(tried.first == doctest::Approx(expected_first(arrivals, competitors)).epsilon(0.03));
      }
    }
  }
}

TEST_CASE("arrivals: a trace is scaled to the mean 1/2 and gives each rank's delays in their order") {
  const Arrivals arrivals(trace_of_three(), 3);
  const std::vector<float> rank0{0, 5, 40, 0};
  const std::vector<float> rank2{20, 1, 0, 2};
  const double scale = 0.5 / (80.0 / 12);
  // Some iteration is the first.
  std::uint64_t offset = 0;
  while (offset < 4 && arrivals.delay(0, 0) != doctest::Approx(rank0[offset] * scale)) ++offset;
  REQUIRE(offset < 4);
  if (rank0[offset] == 0 && arrivals.delay(0, 1) != doctest::Approx(5 * scale)) offset = 3;
  for (std::uint64_t i = 0; i < 9; ++i) {
    CHECK(arrivals.delay(0, i) == doctest::Approx(rank0[(i + offset) % 4] * scale));
    CHECK(arrivals.delay(2, i) == doctest::Approx(rank2[(i + offset) % 4] * scale));
  }
  CHECK(arrivals.longest() == doctest::Approx(40 * scale));
  CHECK(arrivals.likely(0) == doctest::Approx(5.0 / 12));
  CHECK(arrivals.likely(arrivals.longest()) == 1);
  CHECK(arrivals.likely(-1) == 0);
  CHECK(expected_first(arrivals, 1) == doctest::Approx(0.5).epsilon(1e-3));
}

TEST_CASE("arrivals: the same seed gives the same delays, another one others") {
  const Arrivals one("uniform", 1);
  const Arrivals again("uniform", 1);
  const Arrivals other("uniform", 2);
  int equal = 0;
  for (std::uint32_t rank = 0; rank < 100; ++rank) {
    CHECK(one.delay(rank, 7) == again.delay(rank, 7));
    equal += one.delay(rank, 7) == other.delay(rank, 7) ? 1 : 0;
  }
  CHECK(equal == 0);
}

}  // namespace bench_arrivals_test
