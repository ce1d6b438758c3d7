// `coracle bench coll` between nodes: the way that the cost model chooses for a broadcast, beside the best of all ways,
// found by trying them.
#include <fmt/format.h>

#include <algorithm>

#include "apps/bench/coll/coll_choices.hpp"
#include "collectives/choice/choice_words.hpp"
#include "collectives/choice/tuning.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

using Ways = std::vector<BroadcastChoice>;

/// The chosen one is the first; depth and fan-out are as chosen.
Ways all_choices(Rank& self, std::size_t bytes) {
  Tuning& tuning = self.local<Tuning>();
  const TeamNodes& nodes = self.world().nodes();
  const BroadcastChoice chosen = tuning.broadcast(nodes, bytes);
  BroadcastChoice asked;
  asked.depth = chosen.depth;
  asked.fan_out = chosen.fan_out;
  Ways choices = tuning.model().broadcast_candidates(bytes, {nodes.count(), nodes.largest()}, asked);
  std::erase(choices, chosen);
  choices.insert(choices.begin(), chosen);
  return choices;
}

Task<> repeat(Team& team, std::span<double> values, BroadcastChoice choice, std::uint64_t count) {
  for (; count != 0; --count) co_await team.broadcast(values, 0, choice);
  co_await team.barrier();
}

/// Real time: all in alternation.
Task<std::vector<Figure>> measure(Rank& self, std::span<double> values, const Ways& choices, Plan plan) {
  plan.batches = std::min(plan.batches, 7);
  Contest contest(self, plan);
  std::vector<std::size_t> contenders;
  for (const BroadcastChoice& choice : choices)
    contenders.push_back(contest.add(
        [&self, values, choice](std::uint64_t count) { return repeat(self.world(), values, choice, count); }));
  co_await contest.run();
  std::vector<Figure> figures;
  if (self.id() == 0)
    for (const std::size_t contender : contenders) figures.push_back(contest.figure(contender));
  co_return figures;
}

/// Virtual time: one at a time, from a common start to the last one's end.
Task<std::vector<Figure>> simulate(Rank& self, std::span<double> values, const Ways& choices, bool quick) {
  std::vector<Figure> figures;
  for (const BroadcastChoice choice : choices) {
    std::vector<double> samples;
    for (int i = 0; i < (quick ? 1 : 5); ++i) {
      co_await self.world().barrier();
      const std::uint64_t begin = self.loop().exact_now_ns();
      co_await self.world().broadcast(values, 0, choice);
      const auto taken = static_cast<double>(self.loop().exact_now_ns() - begin);
      samples.push_back(co_await self.world().all_reduce(taken, max_of));
    }
    figures.push_back(figure_of(samples));
  }
  co_return figures;
}

}  // namespace

Task<> compare_choices(Bench& bench, std::span<double> values) {
  Rank& self = bench.self;
  const Ways choices = all_choices(self, values.size_bytes());
  std::vector<Figure> figures;
  if (self.placement() == Placement::sim)
    figures = co_await simulate(self, values, choices, bench.plan.quick);
  else
    figures = co_await measure(self, values, choices, bench.plan);
  if (!bench.keeps_time()) co_return;
  const auto best = std::min_element(figures.begin(), figures.end(),
                                     [](const Figure& a, const Figure& b) { return a.median < b.median; });
  const BroadcastChoice& best_choice = choices[static_cast<std::size_t>(best - figures.begin())];
  Row row;
  row.name = fmt::format("{} ranks, {}: {}", self.size(), size_text(values.size_bytes()), to_words(choices[0]));
  row.value = figures[0];
  row.bytes = static_cast<double>(values.size_bytes());
  row.limit_name = fmt::format("the best of {}: {}", choices.size(), to_words(best_choice));
  row.limit = *best;
  bench.report.add(fmt::format("broadcast as chosen, beside the best way, placement {}, {} nodes",
                               to_string(self.placement()), self.nodes()),
                   row);
}

}  // namespace coracle::internals::bench
