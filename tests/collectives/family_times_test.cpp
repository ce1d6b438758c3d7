// Collectives between nodes in simulated time: that each algorithm takes the steps that it should, so that what was
// asked for is what is done, and how good the cost model's choice is.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "collectives/choice/tuning.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/job.hpp"

namespace family_times_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

constexpr Collective kAll[] = {Collective::reduce,     Collective::all_reduce, Collective::gather,
                               Collective::gather_all, Collective::scatter,    Collective::reduce_scatter,
                               Collective::all_to_all, Collective::scan};

struct Buffers {
  std::vector<std::uint64_t> one;
  std::vector<std::uint64_t> all;
  std::vector<std::uint64_t> other;
};

/// Of `one.size()` elements of each member, or in each block; the root is the first.
Task<> call(Team& team, Collective collective, Algorithm algorithm, Buffers& buffers) {
  const std::span one(buffers.one);
  const std::span all(buffers.all);
  const std::span at_root = team.index() == 0 ? all : std::span<std::uint64_t>();
  switch (collective) {
    case Collective::reduce:
      return team.reduce(one, std::plus<>(), 0, algorithm);
    case Collective::all_reduce:
      return team.all_reduce(one, std::plus<>(), algorithm);
    case Collective::gather:
      return team.gather(one, at_root, 0, algorithm);
    case Collective::gather_all:
      return team.gather_all(one, all, algorithm);
    case Collective::scatter:
      return team.scatter(at_root, one, 0, algorithm);
    case Collective::reduce_scatter:
      return team.reduce_scatter(all, one, std::plus<>(), algorithm);
    case Collective::all_to_all:
      return team.all_to_all(all, std::span(buffers.other), algorithm);
    case Collective::scan:
      break;
  }
  return team.scan(one, std::plus<>());
}

struct Timed {
  Algorithm algorithm;
  double ns = 0;
};

/// All ways, one after the other on one job of a rank per node; each from a common start to the last one's end.
struct Times {
  std::vector<Timed> ways;
  Algorithm chosen = Algorithm::automatic;
};

Task<> take_times(Rank& self, Collective collective, std::size_t elements, Times& times,
                  std::vector<std::uint64_t>& ends) {
  constexpr std::uint64_t kTurnNs = 1'000'000'000;  // of virtual time
  Buffers buffers{std::vector<std::uint64_t>(elements), std::vector<std::uint64_t>(elements * self.size()),
                  std::vector<std::uint64_t>(elements * self.size())};
  for (Timed& way : times.ways) {
    co_await self.world().barrier();
    co_await sleep_for(std::chrono::nanoseconds(kTurnNs - self.loop().exact_now_ns() % kTurnNs));
    const std::uint64_t begin = self.loop().exact_now_ns() / kTurnNs * kTurnNs;
    co_await call(self.world(), collective, way.algorithm, buffers);
    ends[self.id()] = self.loop().exact_now_ns() - begin;
    co_await self.world().barrier();
    if (self.id() == 0) way.ns = static_cast<double>(*std::max_element(ends.begin(), ends.end()));
    co_await self.world().barrier();
  }
  if (self.id() == 0) times.chosen = self.local<Tuning>().latest(collective);
}

/// `choices`: the job's words.
Times times_of(Collective collective, const std::vector<Algorithm>& ways, std::uint32_t nodes, std::size_t elements,
               const sim::NetworkModel& network, const std::string& choices = "") {
  sim::SimJob job;
  job.size = nodes;
  job.nodes = nodes;
  job.model = network;
  job.choices = choices;
  job.silence_limit_ns = 1'000'000'000'000;
  Times times;
  for (const Algorithm algorithm : ways) times.ways.push_back({algorithm});
  std::vector<std::uint64_t> ends(nodes);
  const sim::SimulationResult outcome =
      job.run([&](Rank& self) { return take_times(self, collective, elements, times, ends); });
  REQUIRE_MESSAGE(sim::text_of(outcome) == "", sim::text_of(outcome));
  return times;
}

/// Nothing but latency takes time, so that times are steps.
constexpr std::uint64_t kStepNs = 1'000'000;
sim::NetworkModel latency_only() {
  sim::NetworkModel network;
  network.inside = {0, 0, 0, 0, 1e6};
  network.between = {kStepNs, 0, 0, 0, 1e6};
  network.jitter_ns = 0;
  network.step_ns = 1;
  return network;
}

/// Messages that wait for one another.
std::uint32_t steps_of(Collective collective, Algorithm algorithm, std::uint32_t nodes) {
  const auto log_up = static_cast<std::uint32_t>(std::bit_width(nodes - 1));
  const auto log_down = static_cast<std::uint32_t>(std::bit_width(nodes) - 1);
  const std::uint32_t folded = nodes - std::bit_floor(nodes);
  const std::uint32_t folding = folded > 0 ? 1 : 0;
  switch (algorithm) {
    case Algorithm::linear:
      return 1;
    case Algorithm::binomial:
      return log_down;  // the members that are the most steps away have the most bits set in their number
    case Algorithm::bruck:
      return log_up;
    case Algorithm::doubling:
      if (collective == Collective::scan) return log_down;
      // Up to half of the others: their results are there while the other half still hears of their values.
      return log_down + folding + (2 * folded > std::bit_floor(nodes) ? 1 : 0);
    case Algorithm::halving:
      return collective == Collective::reduce ? folding + log_down + 1 : 2 * (folding + log_down);
    case Algorithm::ring:
      return collective == Collective::all_reduce ? 2 * (nodes - 1) : nodes - 1;
    case Algorithm::pairwise:
      return collective == Collective::all_to_all ? (nodes + 2) / 4 : nodes - 1;  // four pairs at a time
    case Algorithm::automatic:
      break;
  }
  return 0;
}

std::vector<Algorithm> ways_of(Collective collective) {
  const std::span<const Algorithm> all = algorithms_of(collective);
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("algorithms: each that the program asks for takes its number of steps") {
  for (const Collective collective : kAll) {
    for (const std::uint32_t nodes : {2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 12U, 13U, 16U}) {
      for (const Timed& way : times_of(collective, ways_of(collective), nodes, 1, latency_only()).ways) {
        INFO(name_of(collective), " by ", name_of(way.algorithm), " between ", nodes, " nodes");
        CHECK(static_cast<std::uint32_t>(way.ns / kStepNs) == steps_of(collective, way.algorithm, nodes));
      }
    }
  }
}

TEST_CASE("algorithms: each that the job's words ask for is taken, unless the program asks for another") {
  constexpr std::uint32_t kNodes = 9;
  for (const Collective collective : kAll) {
    const Algorithm other = algorithms_of(collective).back();
    for (const Algorithm algorithm : algorithms_of(collective)) {
      const std::string words = fmt::format("{}={}", name_of(collective), name_of(algorithm));
      const Times times = times_of(collective, {Algorithm::automatic, other}, kNodes, 1, latency_only(), words);
      INFO(words);
      CHECK(static_cast<std::uint32_t>(times.ways[0].ns / kStepNs) == steps_of(collective, algorithm, kNodes));
      CHECK(static_cast<std::uint32_t>(times.ways[1].ns / kStepNs) == steps_of(collective, other, kNodes));
    }
  }
}

TEST_CASE("model: the chosen algorithm is nearly as fast in the simulator as the best of all") {
  constexpr double kMost = 1.4;
  double worst = 1;
  double product = 1;
  int cases = 0;
  for (const Collective collective : kAll) {
    if (algorithms_of(collective).size() == 1) continue;
    for (const std::uint32_t nodes : {2U, 3U, 5U, 8U, 16U}) {
      if (test::kSanitized && nodes != 5) continue;
      for (const std::size_t elements : {1UL, 128UL, 1'024UL, 2'048UL, 8'192UL, 32'768UL}) {
        std::vector<Algorithm> ways = ways_of(collective);
        ways.push_back(Algorithm::automatic);
        Times times = times_of(collective, ways, nodes, elements, sim::NetworkModel());
        times.ways.pop_back();
        const auto best = std::min_element(times.ways.begin(), times.ways.end(),
                                           [](const Timed& left, const Timed& right) { return left.ns < right.ns; });
        const auto chosen = std::find_if(times.ways.begin(), times.ways.end(),
                                         [&times](const Timed& way) { return way.algorithm == times.chosen; });
        REQUIRE(chosen != times.ways.end());
        INFO(name_of(collective), " of ", elements * 8, " bytes between ", nodes, " nodes: ", name_of(times.chosen),
             ", but the best is ", name_of(best->algorithm));
        CHECK(chosen->ns <= kMost * best->ns);
        worst = std::max(worst, chosen->ns / best->ns);
        product *= chosen->ns / best->ns;
        ++cases;
      }
    }
  }
  MESSAGE("the chosen one takes up to " << worst << " times as long as the best, on the geometric mean "
                                        << std::pow(product, 1.0 / cases));
}

}  // namespace family_times_test
