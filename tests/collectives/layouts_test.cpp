// all_to_all of scattered blocks in simulation: random nested layouts on every shape of job, on two teams at once, and
// among members of which one goes.
#include <doctest/doctest.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/core/combinators.hpp"
#include "tests/brief.hpp"
#include "tests/collectives/scattered_trial.hpp"
#include "tests/layout/random_layout.hpp"
#include "tests/sanitized.hpp"
#include "tests/seeds.hpp"
#include "tests/sim/job.hpp"

namespace layouts_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using test::attempt;

namespace {

/// From a few bytes to many, so that all ways are taken.
constexpr std::uint64_t kBlockBytes[] = {0, 3, 40, 700, 5'000};

Task<> on_one_team(Team& team, std::uint64_t seed) {
  for (const std::uint64_t bytes : kBlockBytes) {
    co_await attempt(team, {seed + bytes, bytes, false});
    co_await attempt(team, {seed + bytes, bytes, true});
  }
}

/// Several at a time on each of two teams that share members.
Task<> on_two_teams(Rank& self, std::uint64_t seed) {
  auto part = co_await self.world().split(self.id() % 2, self.size() - self.id());
  std::vector<Task<>> tasks;
  for (std::uint64_t i = 0; i < 3; ++i) {
    tasks.push_back(attempt(self.world(), {seed + i, kBlockBytes[(seed + i) % 5], i % 2 == 0}));
    tasks.push_back(attempt(*part, {seed + i, kBlockBytes[(seed + i + 2) % 5], i % 2 == 1}));
  }
  co_await sleep_for(std::chrono::nanoseconds(seed * self.id() % 5'000));
  co_await when_all(std::move(tasks));
}

SimJob job_of(std::uint64_t seed) {
  SimJob job;
  job.nodes = static_cast<std::uint32_t>(1 + seed % 3);
  job.size = job.nodes + static_cast<std::uint32_t>(seed / 3 % 6);
  job.seed = seed;
  return job;
}

}  // namespace

TEST_CASE("all_to_all of layouts: random nested ones on one to three nodes, for many seeds") {
  const std::uint64_t seed = coracle::internals::test::chosen_seed();
  std::printf("all_to_all of layouts: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const std::uint64_t jobs = test::kSanitized || test::is_brief() ? 20 : 80;
  for (std::uint64_t i = 0; i < jobs; ++i) {
    const SimJob job = job_of(i + 1);
    INFO("seed ", seed, ", job ", i, ": ", job.size, " ranks on ", job.nodes, " nodes");
    CHECK(text_of(job.run([&](Rank& self) { return on_one_team(self.world(), seed + i); })) == "");
    CHECK(text_of(job.run([&](Rank& self) { return on_two_teams(self, seed + i); })) == "");
  }
}

namespace {

/// What a member sends whose block has `bytes`, a byte every four, into a row.
Task<> sends(Team& team, std::int64_t bytes) {
  const Layout sparse = Layout::bytes(1).vector(bytes, 1, 4);
  const Layout row = Layout::bytes(bytes);
  std::vector<std::byte> from(static_cast<std::size_t>(4 * bytes) * team.size());
  std::vector<std::byte> to(static_cast<std::size_t>(bytes) * team.size());
  co_await team.all_to_all({from.data(), sparse, 1}, {to.data(), row, 1});
}

}  // namespace

TEST_CASE("all_to_all of layouts: members whose blocks have other sizes are told both") {
  SimJob job;
  job.size = 3;
  const std::string text =
      text_of(job.run([](Rank& self) { return sends(self.world(), 30'000 + 8 * (self.id() == 1 ? 1 : 0)); }));
  INFO(text);
  CHECK(text.find("90000 bytes") != std::string::npos);  // of all three blocks; who is first to notice, chance decides
  CHECK(text.find("90024 bytes") != std::string::npos);
}

TEST_CASE("all_to_all of layouts: a member that dies meanwhile ends it for all others, for many seeds") {
  constexpr std::uint32_t kRounds = 40;
  std::uint32_t failed = 0;
  const test::Seeds seeds("CORACLE_LAYOUT_SEEDS", test::kSanitized ? 40 : 150);
  for (const std::uint64_t seed : seeds) {
    SimJob job = job_of(seed);
    if (job.size == 1) continue;
    job.survive = true;
    Fault death{};
    death.kind = Fault::Kind::kill;
    death.first.number = static_cast<std::uint32_t>(seed % job.size);
    death.at_ns = 1'000 + seed * 7'919 % 300'000;
    job.faults = {death};
    std::uint32_t done = 0;
    std::uint32_t lost = 0;
    const SimulationResult outcome = job.run([&](Rank& self) -> Task<> {
      try {
        for (std::uint32_t round = 0; round < kRounds; ++round)
          co_await attempt(self.world(), {seed + round, 300 + 1'000 * (round % 3), round % 2 == 0});
        ++done;
      } catch (const Error& error) {
        if (error.code() != Errc::peer_lost) throw;
        ++lost;
      }
    });
    INFO(seeds.repeat(seed), ": ", job.size, " ranks on ", job.nodes, " nodes, ", to_text(death));
    REQUIRE(text_of(outcome) == "");
    CHECK((done == job.size || done + lost >= job.size - 1));
    failed += lost;
  }
  CHECK((failed > 60 || seeds.size() < 40));
}

}  // namespace layouts_test
