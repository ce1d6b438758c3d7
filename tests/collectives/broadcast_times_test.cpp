// The cost model against the simulator: predicted and simulated times of broadcasts, and how good the choice is.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "collectives/choice/tuning.hpp"
#include "tests/sim/job.hpp"

namespace broadcast_times_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

struct Case {
  TeamShape shape;
  std::size_t bytes;
};
constexpr Case kCases[] = {
    {{1, 8}, 12'288}, {{1, 8}, 262'144}, {{2, 1}, 1'024},   {{2, 3}, 262'144},  {{16, 1}, 65'536},
    {{16, 4}, 1'024}, {{16, 4}, 65'536}, {{8, 4}, 262'144}, {{10, 4}, 131'072},
};

struct Timing {
  double simulated_ns = 0;
  double predicted_ns = 0;
};

/// Of the simulated network, for members that all arrive at once.
CostModel even_model(Rank& rank) {
  Costs costs = rank.local<Tuning>().model().costs();
  costs.arrival_spread_ns = 0;
  return CostModel(costs);
}
CostModel even_model(TeamShape shape) {
  Costs costs;
  sim::SimJob job;
  job.size = shape.nodes * shape.local_size;
  job.nodes = shape.nodes;
  const auto app = [&costs](Rank& self) -> Task<> {
    costs = even_model(self).costs();
    co_return;
  };
  job.run(app);
  return CostModel(costs);
}

/// From the first to enter until the last to leave, the mean of some rounds; all enter after the same barrier.
Timing time_broadcast(TeamShape shape, std::size_t bytes, const BroadcastChoice& choice) {
  constexpr int kRounds = 3;
  struct Shared {
    std::vector<std::uint64_t> entered, left;
    double sum_ns = 0;
    double predicted_ns = 0;
  } shared;
  sim::SimJob job;
  job.size = shape.nodes * shape.local_size;
  job.nodes = shape.nodes;
  job.segment_bytes = 4 << 20;
  shared.entered.resize(job.size);
  shared.left.resize(job.size);
  const auto app = [&shared, bytes, choice, shape](Rank& self) -> Task<> {
    std::vector<std::byte> data(bytes);
    for (int round = 0; round <= kRounds; ++round) {
      co_await self.world().barrier();
      co_await sleep_for(std::chrono::nanoseconds(1'000'000 - self.loop().exact_now_ns() % 1'000'000));
      shared.entered[self.id()] = self.loop().exact_now_ns();
      co_await self.world().broadcast(data, 0, choice);
      shared.left[self.id()] = self.loop().exact_now_ns();
      co_await self.world().barrier();
      if (self.id() != 0 || round == 0) continue;  // the first one finds nothing prepared
      shared.sum_ns += static_cast<double>(*std::max_element(shared.left.begin(), shared.left.end()) -
                                           *std::min_element(shared.entered.begin(), shared.entered.end()));
    }
    if (self.id() == 0) shared.predicted_ns = even_model(self).broadcast_ns(choice, bytes, shape);
  };
  const sim::SimulationResult outcome = job.run(app);
  REQUIRE_MESSAGE(sim::text_of(outcome) == "", sim::text_of(outcome));
  return {shared.sum_ns / kRounds, shared.predicted_ns};
}

}  // namespace

TEST_CASE("model: broadcasts take the predicted time in the simulator, within its bounds") {
  // Of single sizes and ways; what is chosen is looked at below.
  constexpr double kLeast = 0.6;
  constexpr double kMost = 1.7;
  double worst_low = 1;
  double worst_high = 1;
  const CostModel any{Costs{}};
  for (const Case& at : kCases) {
    for (const BroadcastChoice& choice : any.broadcast_candidates(at.bytes, at.shape)) {
      const bool is_rare = choice.depth != 4 || (choice.chunk_bytes < at.bytes && choice.chunk_bytes != 32 * 1024) ||
                           (choice.fan_out != at.shape.local_size - 1 && choice.fan_out != 2);
      if (is_rare) continue;
      CAPTURE(at.shape.nodes);
      CAPTURE(at.shape.local_size);
      CAPTURE(at.bytes);
      CAPTURE(to_words(choice));
      const Timing timing = time_broadcast(at.shape, at.bytes, choice);
      const double ratio = timing.predicted_ns / timing.simulated_ns;
      CHECK(ratio > kLeast);
      CHECK(ratio < kMost);
      worst_low = std::min(worst_low, ratio);
      worst_high = std::max(worst_high, ratio);
    }
  }
  MESSAGE("predicted / simulated: from " << worst_low << " to " << worst_high);
}

TEST_CASE("model: what is chosen is nearly as fast in the simulator as the best of all ways") {
  constexpr double kMost = 1.6;
  double worst = 1;
  for (const Case& at : kCases) {
    const CostModel model = even_model(at.shape);
    const BroadcastChoice chosen = model.choose_broadcast(at.bytes, at.shape);
    const double chosen_ns = time_broadcast(at.shape, at.bytes, chosen).simulated_ns;
    double best_ns = chosen_ns;
    std::string best = to_words(chosen);
    for (const BroadcastChoice& choice : model.broadcast_candidates(at.bytes, at.shape)) {
      if (choice.depth != chosen.depth) continue;
      const double ns = time_broadcast(at.shape, at.bytes, choice).simulated_ns;
      if (ns >= best_ns) continue;
      best_ns = ns;
      best = to_words(choice);
    }
    CAPTURE(at.shape.nodes);
    CAPTURE(at.shape.local_size);
    CAPTURE(at.bytes);
    CAPTURE(to_words(chosen));
    CAPTURE(best);
    CHECK(chosen_ns <= kMost * best_ns);
    worst = std::max(worst, chosen_ns / best_ns);
  }
  MESSAGE("the chosen one takes up to " << worst << " times as long as the best");
}

}  // namespace broadcast_times_test
