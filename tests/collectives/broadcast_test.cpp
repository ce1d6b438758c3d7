// Broadcast by every method and tree, in simulated jobs: right for every shape, size, root and seed; and what happens
// when a rank dies in the middle.
#include <coracle/coracle.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/brief.hpp"
#include "tests/pattern.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/job.hpp"
#include "transports/sim/schedule.hpp"

namespace broadcast_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

constexpr BroadcastMethod kMethods[] = {BroadcastMethod::plain, BroadcastMethod::pipelined,
                                        BroadcastMethod::competitive};
constexpr BroadcastTree kTrees[] = {BroadcastTree::binomial, BroadcastTree::recursive_doubling, BroadcastTree::ring};

/// One broadcast of `bytes` from `root`, its result checked.
Task<> broadcast_once(Team& team, std::uint32_t root, std::size_t bytes, BroadcastChoice choice, std::uint64_t round) {
  std::vector<std::byte> data(bytes);
  if (team.index() == root) test::write_pattern(data, root, round);
  co_await team.broadcast(data, root, choice);
  EXPECT(test::holds_pattern(data, root, round));
}

std::vector<BroadcastChoice> choices_for(std::uint32_t nodes) {
  std::vector<BroadcastChoice> choices{{}};
  for (const BroadcastMethod method : kMethods)
    for (const BroadcastTree tree : kTrees)
      if (tree != BroadcastTree::recursive_doubling || std::has_single_bit(nodes)) choices.push_back({method, tree});
  return choices;
}

std::string describe(const BroadcastChoice& choice) {
  return "method " + std::to_string(static_cast<int>(choice.method)) + ", tree " +
         std::to_string(static_cast<int>(choice.tree)) + ", chunks of " + std::to_string(choice.chunk_bytes) +
         ", depth " + std::to_string(choice.depth) + ", fan-out " + std::to_string(choice.fan_out);
}

/// All roots and sizes around the boundaries of chunks.
Task<> all_roots(Rank& self, BroadcastChoice choice) {
  constexpr auto kSizes =
      std::to_array<std::size_t>({0, 1, 40, 41, 64, 65, 299, 300, 301, 2399, 2400, 2401, 4097, 9000});
  std::uint64_t round = 0;
  for (std::uint32_t root = 0; root < self.size(); ++root) {
    for (const std::size_t bytes : kSizes) {
      ++round;
      co_await broadcast_once(self.world(), root, bytes, choice, round);
    }
  }
}

}  // namespace

TEST_CASE("broadcast: every method and tree, 1 to 9 nodes of 1 to 5 ranks, all roots, sizes around the chunks") {
  const std::uint32_t step = test::kSanitized || test::is_brief() ? 3 : 1;
  for (std::uint32_t nodes = 1; nodes <= 9; nodes += step) {
    for (std::uint32_t ranks = 1; ranks <= 5; ranks += step) {
      for (BroadcastChoice choice : choices_for(nodes)) {
        SimJob job;
        job.size = nodes * ranks;
        job.nodes = nodes;
        job.seed = nodes * 100 + ranks;
        choice.chunk_bytes = 300;
        choice.fan_out = 1 + (nodes + ranks) % 4;
        CAPTURE(nodes);
        CAPTURE(ranks);
        CAPTURE(describe(choice));
        const SimulationResult outcome = job.run([&](Rank& self) { return all_roots(self, choice); });
        REQUIRE(text_of(outcome) == "");
      }
    }
  }
}

TEST_CASE("broadcast: 16 MiB, by every method and tree") {
  for (const std::uint32_t nodes : {1U, 3U, 4U}) {
    if (test::is_brief() && nodes == 4) continue;  // 144 MiB for each
    for (const BroadcastChoice& choice : choices_for(nodes)) {
      SimJob job;
      job.size = nodes * 2 + 1;
      job.nodes = nodes;
      CAPTURE(describe(choice));
      const SimulationResult outcome =
          job.run([&](Rank& self) { return broadcast_once(self.world(), 1, 16 << 20, choice, 1); });
      REQUIRE(text_of(outcome) == "");
    }
  }
}

namespace {

struct Plan {
  SimJob job;
  std::uint64_t seed = 0;
  std::uint64_t late_ns = 0;
  int rounds = 6;
};

Plan plan_of(std::uint64_t seed) {
  Random random(Random::mix(seed));
  Plan plan;
  plan.seed = seed;
  plan.job.seed = seed;
  plan.job.nodes = 1 + static_cast<std::uint32_t>(random.below(6));
  plan.job.size = plan.job.nodes + static_cast<std::uint32_t>(random.below(plan.job.nodes * 4 + 1));
  // More on a node than compete for leading it.
  if (random.below(20) == 0) plan.job.size = plan.job.nodes * (9 + static_cast<std::uint32_t>(random.below(10)));
  plan.job.model.jitter_ns = std::uint64_t{1} << random.below(15);
  plan.job.model.reorder = random.below(4) != 0;
  plan.job.model.eager_bytes_max = 512 + random.below(8000);
  plan.late_ns = random.below(3) == 0 ? 0 : std::uint64_t{1} << random.below(20);
  return plan;
}

BroadcastChoice random_choice(Random& random, std::uint32_t nodes) {
  BroadcastChoice choice{kMethods[random.below(3)], kTrees[random.below(3)]};
  if (choice.tree == BroadcastTree::recursive_doubling && !std::has_single_bit(nodes))
    choice.tree = BroadcastTree::ring;
  if (random.below(8) == 0) choice = {};
  choice.chunk_bytes = random.below(5) == 0 ? 0 : 64 + random.below(3000);
  choice.depth = static_cast<std::uint32_t>(random.below(4));
  choice.fan_out = static_cast<std::uint32_t>(random.below(4));
  return choice;
}

std::size_t random_size(Random& random) {
  switch (random.below(5)) {
    case 0:
      return random.below(50);
    case 1:
      return random.below(5000);
    case 2:
      return 9000 + random.below(1000);
    default:
      return random.below(60'000);
  }
}

Task<> come_late(Random& random, std::uint64_t late_ns) {
  if (late_ns > 0) co_await sleep_for(std::chrono::nanoseconds(random.below(late_ns)));
}

/// What all do alike comes from `common`; when each does it, from its own chance.
Task<> broadcasts(Rank& self, Team& team, const Plan& plan, std::uint64_t salt) {
  Random common(Random::mix(plan.seed + salt));
  Random own(Random::mix(plan.seed * 977 + salt * 131 + self.id() + 1));
  for (int round = 0; round < plan.rounds; ++round) {
    std::vector<Task<>> at_once;
    const std::uint64_t count = 1 + common.below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto root = static_cast<std::uint32_t>(common.below(team.size()));
      const std::size_t bytes = random_size(common);
      const BroadcastChoice choice = random_choice(common, team.nodes().count());
      at_once.push_back(
          broadcast_once(team, root, bytes, choice, salt * 1000 + static_cast<std::uint64_t>(round) * 10 + i));
    }
    co_await come_late(own, plan.late_ns);
    co_await when_all(std::move(at_once));
    if (common.below(4) == 0) co_await team.barrier();
  }
}

Task<> chaos(Rank& self, const Plan& plan) {
  Random common(Random::mix(plan.seed));
  const auto parts = static_cast<std::uint32_t>(1 + common.below(3));
  // Teams that overlap: their members in another order, and spread over the nodes in another way.
  auto part = co_await self.world().split(self.id() % parts, self.size() - self.id());
  std::vector<Task<>> both;
  both.push_back(broadcasts(self, self.world(), plan, 1));
  both.push_back(broadcasts(self, *part, plan, 2 + self.id() % parts));
  co_await when_all(std::move(both));
}

}  // namespace

TEST_CASE("broadcast: random methods, sizes, roots and delays, many at once, on teams that overlap, for 2,000 seeds") {
  const test::Seeds seeds("CORACLE_BROADCAST_SEED", test::kSanitized ? 200 : 2000);
  for (const std::uint64_t seed : seeds) {
    const Plan plan = plan_of(seed);
    const SimulationResult outcome = plan.job.run([&](Rank& self) { return chaos(self, plan); });
    if (outcome.error) FAIL(text_of(outcome), "\n", seeds.repeat(seed));
  }
}

namespace {

/// Rank 1 gives another size than all others do; it is told, and nobody hangs.
Task<> give_another_size(Rank& self, std::size_t right, std::size_t wrong, std::uint32_t& refused) {
  std::vector<std::byte> data(self.id() == 1 ? wrong : right);
  try {
    co_await self.world().broadcast(data, 0, {BroadcastMethod::automatic, BroadcastTree::binomial});
  } catch (const Error& error) {
    if (error.code() != Errc::bad_input && error.code() != Errc::given_up) throw;
    ++refused;
  }
}

}  // namespace

TEST_CASE("broadcast: a member that gives another size is told so, and nobody hangs") {
  constexpr std::size_t kSizes[] = {0, 8, 39, 500, 3000, 70'000, 70'001, 3'000'000, 9'000'000};
  for (const std::size_t right : kSizes) {
    for (const std::size_t wrong : kSizes) {
      if (right == wrong) continue;
      CAPTURE(right);
      CAPTURE(wrong);
      SimJob job;
      job.size = 3;
      job.survive = true;
      std::uint32_t refused = 0;
      const SimulationResult outcome =
          job.run([&](Rank& self) { return give_another_size(self, right, wrong, refused); });
      // Who is through before the others have come hears of it in the next one, which may be its program's end.
      const std::string ending = text_of(outcome);
      const bool heard_at_end = ending.find("must call the same collectives") != std::string::npos;
      CHECK_MESSAGE((ending.empty() || heard_at_end), ending);
      CHECK((refused >= 1 || heard_at_end));
    }
  }
}

namespace {

struct Tally {
  std::uint32_t done = 0;
  std::uint32_t failed = 0;
};

/// Broadcasts until one fails; every survivor must come to an end.
Task<> broadcast_until_lost(Rank& self, const Plan& plan, Tally& tally) {
  try {
    co_await broadcasts(self, self.world(), plan, 1);
    ++tally.done;
  } catch (const Error& error) {
    if (error.code() != Errc::peer_lost) throw;
    ++tally.failed;
  }
}

}  // namespace

TEST_CASE("broadcast: a rank dies in the middle: an error on all survivors and no hang, for 1,000 seeds") {
  const test::Seeds seeds("CORACLE_BROADCAST_SEED", test::kSanitized ? 200 : 1000);
  std::uint32_t failed = 0;
  for (const std::uint64_t seed : seeds) {
    Plan plan = plan_of(seed);
    Random random(Random::mix(seed + 5'000'000));
    plan.job.size = std::max(plan.job.size, 2U);
    plan.job.survive = true;
    plan.rounds = 40;
    Fault death{};
    death.kind = Fault::Kind::kill;
    death.first.number = static_cast<std::uint32_t>(random.below(plan.job.size));
    death.at_ns = 1000 + random.below(400'000);
    plan.job.faults = {death};
    Tally tally;
    const SimulationResult outcome = plan.job.run([&](Rank& self) { return broadcast_until_lost(self, plan, tally); });
    INFO(seeds.repeat(seed));
    REQUIRE(text_of(outcome) == "");
    const bool nobody_noticed = tally.done == plan.job.size;
    CHECK((nobody_noticed || tally.done + tally.failed >= plan.job.size - 1));
    failed += tally.failed;
  }
  CHECK((failed > seeds.size() || seeds.size() < 100));  // the deaths have to bite
}

}  // namespace broadcast_test
