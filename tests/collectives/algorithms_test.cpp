// Every algorithm of every collective between nodes, as the job's words ask for it: right results for all numbers of
// nodes, roots and sizes, also where it would never be chosen.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <vector>

#include "collectives/choice/tuning.hpp"
#include "tests/brief.hpp"
#include "tests/collectives/trial.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/job.hpp"

namespace algorithms_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using test::attempt;
using test::Kind;

namespace {

std::vector<Kind> kinds_of(Collective collective) {
  switch (collective) {
    case Collective::reduce:
      return {Kind::reduce};
    case Collective::all_reduce:
      return {Kind::all_reduce};
    case Collective::gather:
      return {Kind::gather, Kind::gather_v};
    case Collective::gather_all:
      return {Kind::gather_all, Kind::gather_all_v};
    case Collective::scatter:
      return {Kind::scatter, Kind::scatter_v};
    case Collective::reduce_scatter:
      return {Kind::reduce_scatter, Kind::reduce_scatter_v};
    case Collective::all_to_all:
      return {Kind::all_to_all, Kind::all_to_all_v, Kind::all_to_all_layouts, Kind::all_to_all_w};
    case Collective::scan:
      return {Kind::scan, Kind::exclusive_scan};
  }
  return {};
}

/// Elements of 8 bytes: none, fewer than members, around what a message carries whole, and enough for several lanes.
constexpr std::size_t kSizes[] = {0, 1, 5, 33, 1'025, 20'000};

Task<> every_size(Team& team, Collective collective) {
  const std::uint32_t last = team.size() - 1;
  std::uint64_t round = 0;
  for (const Kind kind : kinds_of(collective)) {
    for (const std::size_t elements : kSizes) {
      round += 3;
      co_await attempt(team, {kind, elements, 0, round, false});
      co_await attempt(team, {kind, elements, last, round + 1, false});
      co_await attempt(team, {kind, elements, last / 2, round + 2, true});
    }
  }
}

void run_all(std::uint32_t ranks, std::uint32_t nodes) {
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    for (const Algorithm algorithm : algorithms_of(collective)) {
      SimJob job;
      job.size = ranks;
      job.nodes = nodes;
      job.choices = fmt::format("{}={}", name_of(collective), name_of(algorithm));
      const auto app = [collective, algorithm](Rank& self) -> Task<> {
        co_await every_size(self.world(), collective);
        const bool has_choice = self.nodes() > 1 && algorithms_of(collective).size() > 1;
        if (!has_choice || self.id() > 0) co_return;  // the first rank leads on its node
        EXPECT(self.local<Tuning>().latest(collective) == algorithm);
      };
      const SimulationResult outcome = job.run(app);
      INFO(ranks, " ranks on ", nodes, " nodes, ", job.choices);
      CHECK(text_of(outcome) == "");
    }
  }
}

}  // namespace

TEST_CASE("algorithms: each gives right results among 1 to 9 nodes") {
  for (std::uint32_t nodes = 1; nodes <= 9; nodes += test::kSanitized ? 2 : 1)
    if (!test::is_brief() || nodes <= 4 || nodes == 7) run_all(nodes, nodes);
}

TEST_CASE("algorithms: each gives right results where nodes have several ranks, not all as many") {
  run_all(7, 3);
  if (test::kSanitized) return;
  run_all(4, 2);
  run_all(11, 5);
}

TEST_CASE("algorithms: each gives right results on teams that go round the nodes") {
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    for (const Algorithm algorithm : algorithms_of(collective)) {
      SimJob job;
      job.size = 7;
      job.nodes = 3;
      job.choices = fmt::format("{}={}", name_of(collective), name_of(algorithm));
      const auto app = [collective](Rank& self) -> Task<> {
        const auto dealt = co_await self.world().split(0, self.id() * 3 % 7);
        co_await every_size(*dealt, collective);
      };
      const SimulationResult outcome = job.run(app);
      INFO(job.choices);
      CHECK(text_of(outcome) == "");
    }
  }
}

}  // namespace algorithms_test
