// `coracle bench coll`: every collective over sizes and numbers of ranks, beside flags and copies without the library;
// and between nodes the way that the cost model chooses, beside the best of all ways, found by trying them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/coll/raw_moves.hpp"
#include "collectives/choice/tuning.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/assert.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::bench {
namespace {

/// Virtual time: one after the other from a common start, each until the last rank has ended.
Task<Figure> simulate(Bench& bench, std::function<Task<>()> once) {
  Rank& self = bench.self;
  std::vector<double> samples;
  for (int i = 0; i < (bench.plan.quick ? 1 : 5); ++i) {
    co_await self.world().barrier();
    const std::uint64_t begin = self.loop().exact_now_ns();
    co_await once();
    const auto taken = static_cast<double>(self.loop().exact_now_ns() - begin);
    samples.push_back(co_await self.world().all_reduce(taken, max_of));
  }
  co_return figure_of(samples);
}

// --- a broadcast's choices ---

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

Task<> broadcast_often(Team& team, std::span<double> values, BroadcastChoice choice, std::uint64_t count) {
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
        [&self, values, choice](std::uint64_t count) { return broadcast_often(self.world(), values, choice, count); }));
  co_await contest.run();
  std::vector<Figure> figures;
  if (self.id() == 0)
    for (const std::size_t contender : contenders) figures.push_back(contest.figure(contender));
  co_return figures;
}

/// Collective, between nodes. Broadcasts `values` in all ways that make sense, and reports a row.
Task<> compare_choices(Bench& bench, std::span<double> values) {
  Rank& self = bench.self;
  const Ways choices = all_choices(self, values.size_bytes());
  std::vector<Figure> figures;
  if (self.placement() == Placement::sim) {
    for (const BroadcastChoice& choice : choices)
      figures.push_back(co_await simulate(bench, [&] { return self.world().broadcast(values, 0, choice); }));
  } else {
    figures = co_await measure(self, values, choices, bench.plan);
  }
  if (!bench.keeps_time()) co_return;
  const auto best = std::min_element(figures.begin(), figures.end(),
                                     [](const Figure& a, const Figure& b) { return a.median < b.median; });
  const BroadcastChoice& best_choice = choices[static_cast<std::size_t>(best - figures.begin())];
  bench.report.add(
      fmt::format("broadcast as chosen, beside the best way, placement {}, {} nodes", to_string(self.placement()),
                  self.nodes()),
      {.name = fmt::format("{} ranks, {}: {}", self.size(), size_text(values.size_bytes()), to_words(choices[0])),
       .value = figures[0],
       .limit_name = fmt::format("the best of {}: {}", choices.size(), to_words(best_choice)),
       .limit = *best,
       .bytes = static_cast<double>(values.size_bytes())});
}

// --- each collective ---

/// What the collectives work on; the same at every rank. The root is rank 0.
struct Subject {
  Team& team;
  Slab<double> source;
  Slab<double> target;
  std::size_t count = 0;  ///< Elements, of each rank's block where there are blocks.

  std::span<double> values() const { return target.local().first(count); }
  std::span<const double> block() const { return source.local().first(count); }
  std::span<double> blocks() const { return target.local().first(count * team.size()); }
  std::span<const double> source_blocks() const { return source.local().first(count * team.size()); }
  /// At the root only.
  std::span<double> at_root(std::span<double> data) const { return team.index() == 0 ? data : std::span<double>(); }
  std::span<const double> at_root(std::span<const double> data) const {
    return team.index() == 0 ? data : std::span<const double>();
  }
};

constexpr const char* kBroadcast = "broadcast";

using Kind = coracle::internals::Collective;

struct Collective {
  const char* name;
  Task<> (*run)(Subject& subject, Algorithm algorithm);
  void (RawMoves::*limit)(std::size_t count);
  std::optional<Kind> kind = {};  ///< What the choice of its algorithm goes by; none: it has no choice.
  bool sized = true;
};

constexpr Collective kCollectives[] = {
    {"barrier", [](Subject& subject, Algorithm) { return subject.team.barrier(); }, &RawMoves::barrier, {}, false},
    {kBroadcast, [](Subject& subject, Algorithm) { return subject.team.broadcast(subject.values(), 0); },
     &RawMoves::broadcast},
    {"reduce",
     [](Subject& subject, Algorithm algorithm) {
       return subject.team.reduce(subject.values(), std::plus<>(), 0, algorithm);
     },
     &RawMoves::reduce, Kind::reduce},
    {"all_reduce",
     [](Subject& subject, Algorithm algorithm) {
       return subject.team.all_reduce(subject.values(), std::plus<>(), algorithm);
     },
     &RawMoves::all_reduce, Kind::all_reduce},
    {"gather",
     [](Subject& subject, Algorithm algorithm) {
       return subject.team.gather(subject.block(), subject.at_root(subject.blocks()), 0, algorithm);
     },
     &RawMoves::gather, Kind::gather},
    {"gather_all",
     [](Subject& subject, Algorithm algorithm) {
       return subject.team.gather_all(subject.block(), subject.blocks(), algorithm);
     },
     &RawMoves::gather_all, Kind::gather_all},
    {"scatter",
     [](Subject& subject, Algorithm algorithm) {
       return subject.team.scatter(subject.at_root(subject.source_blocks()), subject.values(), 0, algorithm);
     },
     &RawMoves::scatter, Kind::scatter},
    {"reduce_scatter",
     [](Subject& subject, Algorithm algorithm) {
       return subject.team.reduce_scatter(subject.source_blocks(), subject.values(), std::plus<>(), algorithm);
     },
     &RawMoves::reduce_scatter, Kind::reduce_scatter},
    {"all_to_all",
     [](Subject& subject, Algorithm algorithm) {
       return subject.team.all_to_all(subject.source_blocks(), subject.blocks(), algorithm);
     },
     &RawMoves::all_to_all, Kind::all_to_all},
    {"scan", [](Subject& subject, Algorithm) { return subject.team.scan(subject.values(), std::plus<>()); },
     &RawMoves::scan},
};

constexpr std::uint64_t kCollectiveSizes[] = {8, 64, 1024, 4096, 16384, 65536, 262144, 1048576};

/// One of the ways of a collective between nodes.
struct CollWay {
  Algorithm algorithm;
  Figure figure;
  std::optional<double> allocations;
};

/// Its times are those of the slowest rank: a batch ends when all have come to its end.
class CollSweep {
 public:
  CollSweep(Bench& bench, std::size_t largest)
      : bench_(bench),
        self_(bench.self),
        subject_{self_.world(), self_.allocate<double>(largest * self_.size()),
                 self_.allocate<double>(largest * self_.size())},
        raw_(self_, subject_.source, subject_.target, self_.core().region().shape().idle.spins > 0 ? 100'000 : 0) {}

  Task<> run(const std::vector<const Collective*>& collectives, const std::vector<std::uint64_t>& sizes) {
    const bool limited = self_.nodes() == 1 && self_.placement() != Placement::sim && co_await raw_.meet();
    for (const Collective* collective : collectives) {
      for (const std::uint64_t bytes : collective->sized ? sizes : std::vector<std::uint64_t>{0}) {
        subject_.count = bytes / sizeof(double);
        if (self_.nodes() > 1 && collective->kind)
          co_await compared(*collective, *collective->kind);
        else if (self_.placement() == Placement::sim)
          co_await simulated(*collective);
        else
          co_await measured(*collective, limited);
        if (self_.nodes() > 1 && collective->name == kBroadcast) co_await compare_choices(bench_, subject_.values());
      }
    }
  }

 private:
  Task<> measured(const Collective& collective, bool limited) {
    Contest contest(self_, bench_.plan);
    const auto ours = add(contest, collective, Algorithm::automatic);
    std::optional<std::size_t> limit;
    if (limited) {
      limit = contest.add_plain([&](std::uint64_t count) {
        for (; count != 0; --count) (raw_.*collective.limit)(subject_.count);
        raw_.finish();
      });
    }
    co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    Row row = row_of(collective, contest.figure(ours));
    row.allocations = contest.allocations(ours);
    if (limit) {
      row.limit_name = collective.sized ? "flags and copies" : "one counter";
      row.limit = contest.figure(*limit);
    }
    bench_.report.add(title(collective), row);
  }

  std::size_t add(Contest& contest, const Collective& collective, Algorithm algorithm) {
    return contest.add(
        [this, &collective, algorithm](std::uint64_t count) { return batch(collective, algorithm, count); });
  }

  Task<> batch(const Collective& collective, Algorithm algorithm, std::uint64_t count) {
    for (; count != 0; --count) co_await collective.run(subject_, algorithm);
    co_await self_.world().barrier();
  }

  Task<Figure> simulate(const Collective& collective, Algorithm algorithm) {
    return bench::simulate(bench_, [&, algorithm] { return collective.run(subject_, algorithm); });
  }

  Task<> simulated(const Collective& collective) {
    const Figure figure = co_await simulate(collective, Algorithm::automatic);
    if (bench_.keeps_time()) bench_.report.add(title(collective), row_of(collective, figure));
  }

  /// Between nodes, in all ways. The row is that of the chosen one, and the best is its limit.
  Task<> compared(const Collective& collective, Kind kind) {
    co_await collective.run(subject_, Algorithm::automatic);
    const Algorithm chosen = self_.local<Tuning>().latest(kind);
    std::vector<CollWay> ways;
    Contest contest(self_, bench_.plan);
    for (const Algorithm algorithm : algorithms_of(kind)) {
      ways.push_back({algorithm, {}, {}});
      if (self_.placement() == Placement::sim)
        ways.back().figure = co_await simulate(collective, algorithm);
      else
        add(contest, collective, algorithm);
    }
    if (self_.placement() != Placement::sim) co_await contest.run();
    if (!bench_.keeps_time()) co_return;
    for (std::size_t i = 0; self_.placement() != Placement::sim && i < ways.size(); ++i)
      ways[i] = {ways[i].algorithm, contest.figure(i), contest.allocations(i)};
    bench_.report.add(title(collective), row_of(collective, ways, chosen));
  }

  Row row_of(const Collective& collective, const std::vector<CollWay>& ways, Algorithm chosen) const {
    const auto of_chosen =
        std::find_if(ways.begin(), ways.end(), [chosen](const CollWay& way) { return way.algorithm == chosen; });
    CORACLE_ASSERT(of_chosen != ways.end(), "{} between nodes has gone without a choice", collective.name);
    const auto best = std::min_element(ways.begin(), ways.end(), [](const CollWay& left, const CollWay& right) {
      return left.figure.median < right.figure.median;
    });
    Row row = row_of(collective, of_chosen->figure);
    row.allocations = of_chosen->allocations;
    row.limit = best->figure;
    row.limit_name = best == of_chosen
                         ? fmt::format("the best way, {}", name_of(chosen))
                         : fmt::format("the best way, {}; chosen: {}", name_of(best->algorithm), name_of(chosen));
    for (const CollWay& way : ways) row.details[std::string(name_of(way.algorithm))] = way.figure.median;
    return row;
  }

  Row row_of(const Collective& collective, const Figure& figure) const {
    const std::uint64_t bytes = subject_.count * sizeof(double);
    return {.name = fmt::format("{} ranks{}", self_.size(), collective.sized ? ", " + size_text(bytes) : ""),
            .value = figure,
            .bytes = static_cast<double>(bytes)};
  }

  std::string title(const Collective& collective) const {
    std::string text = fmt::format("{}, placement {}", collective.name, to_string(self_.placement()));
    if (self_.nodes() > 1) text += fmt::format(", {} nodes", self_.nodes());
    return text;
  }

  Bench& bench_;
  Rank& self_;
  Subject subject_;
  RawMoves raw_;
};

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const Collective& collective : kCollectives) names.emplace_back(collective.name);
  return names;
}

std::vector<const Collective*> selected(const std::vector<std::string>& names) {
  std::vector<const Collective*> found;
  for (const Collective& collective : kCollectives)
    if (std::find(names.begin(), names.end(), collective.name) != names.end()) found.push_back(&collective);
  return found;
}

class CollBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "coll",
            .help = "every collective beside flags and copies",
            .ranks = {2, 4, 8, 16},
            .segment_bytes = 1024 << 20,
            .between_nodes = true,
            .in_sim = true,
            .reads = {"--sizes", "--only"}};
  }
  std::vector<std::string> parts() const override { return collective_names(); }

  Task<> run(Bench& bench) override {
    std::vector<std::uint64_t> sizes = bench.choices.sizes;
    if (sizes.empty()) sizes.assign(std::begin(kCollectiveSizes), std::end(kCollectiveSizes));
    const std::uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
    if (bench.self.core().region().shape().idle.spins == 0 && !bench.plan.quick) bench.plan.batch_ns = 1e7;
    CollSweep sweep(bench, std::max<std::uint64_t>(largest / sizeof(double), 1));
    co_await sweep.run(selected(bench.choices.chosen_of(collective_names())), sizes);
  }
};

}  // namespace

std::unique_ptr<Benchmark> coll_benchmark() {
  return std::make_unique<CollBenchmark>();
}

}  // namespace coracle::internals::bench
