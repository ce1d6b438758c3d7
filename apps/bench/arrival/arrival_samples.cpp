// Bringing the times of all ranks together: first within each node, then over the nodes, so that no rank holds what
// all others have measured.
#include "apps/bench/arrival/arrival_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "collectives/collectives.hpp"
#include "runtime/core/event.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals::bench {
namespace {

struct Smaller {
  double operator()(double left, double right) const noexcept { return std::min(left, right); }
};

void minimise(std::span<double> values, std::span<const double> others) {
  std::transform(values.begin(), values.end(), others.begin(), values.begin(), Smaller());
}

/// What the first rank of a node has heard from the other local members: when the first of them came, and had the data.
class NodeTimes {
 public:
  explicit NodeTimes(Rank&) {}

  static void on_times(Rank& rank, const Message& message) {
    auto& self = rank.local<NodeTimes>();
    std::vector<double> times(message.payload().size() / sizeof(double));
    std::memcpy(times.data(), message.payload().data(), times.size() * sizeof(double));
    self.add(std::move(times));
  }
  void add(std::vector<double> times) {
    if (heard_++ == 0)
      times_ = std::move(times);
    else
      minimise(times_, times);
    changed_.set();
  }
  Task<std::vector<double>> of_all(std::uint32_t ranks) {
    while (heard_ < ranks) {
      changed_.reset();
      co_await changed_;
    }
    heard_ = 0;
    co_return std::move(times_);
  }

 private:
  std::vector<double> times_;  // of all iterations: begun, then ended
  std::uint32_t heard_ = 0;
  Event changed_;
};

/// Sums over nodes and iterations, in one piece of doubles so that one reduction adds up all.
struct Sums {
  double nodes = 0;
  double other_nodes = 0;
  double reach = 0;
  double leader = 0;
  double first = 0;
  double time = 0;
  std::array<double, ArrivalSummary::kBins> leader_bins{};
  std::array<double, ArrivalSummary::kBins> first_bins{};

  std::span<double> values() noexcept { return {&nodes, sizeof(Sums) / sizeof(double)}; }
};
static_assert(std::is_standard_layout_v<Sums>);

std::size_t bin_of(double late, double delay_ns) {
  if (delay_ns <= 0 || late <= 0) return 0;
  const double place = late / delay_ns * ArrivalSummary::kBins;
  return std::min(ArrivalSummary::kBins - 1, static_cast<std::size_t>(place));
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// The least over all ranks of several things at once, since each reduction costs a simulated job much real time; the
/// most of what is negated.
struct Extremes {
  explicit Extremes(const ArrivalSamples& samples, double mean)
      : iterations(samples.begun.size()), values(samples.released) {
    for (const double time : samples.ended) values.push_back(-time);
    values.insert(values.end(), {mean, -mean});
  }
  double released(std::size_t iteration) const { return values[iteration]; }
  double last_ended(std::size_t iteration) const { return -values[iterations + iteration]; }
  double fastest() const { return values[2 * iterations]; }
  double slowest() const { return -values[2 * iterations + 1]; }

  std::size_t iterations;
  std::vector<double> values;
};

/// This node's part of the sums; called by its first rank only.
Task<> add_node(Rank& self, const ArrivalSamples& samples, const Extremes& extremes,
                const std::vector<double>& root_begun, double delay_ns, Sums& sums) {
  const auto ranks = static_cast<std::uint32_t>(self.core().region().ranks_of(self.node()));
  const std::vector<double> times = co_await self.local<NodeTimes>().of_all(ranks);
  const std::size_t iterations = samples.begun.size();
  sums.nodes = 1;
  sums.other_nodes = self.node() == 0 ? 0 : 1;
  for (std::size_t i = 0; i < iterations; ++i) {
    const double leader = samples.begun[i] - extremes.released(i);
    const double first = times[i] - extremes.released(i);
    sums.leader += leader;
    sums.first += first;
    ++sums.leader_bins[bin_of(leader, delay_ns)];
    ++sums.first_bins[bin_of(first, delay_ns)];
    if (self.node() != 0) sums.reach += times[iterations + i] - root_begun[i];
  }
}

ArrivalSummary::Lateness lateness(double sum, const std::array<double, ArrivalSummary::kBins>& bins, double count) {
  ArrivalSummary::Lateness result{sum / count, bins};
  for (double& share : result.share) share /= count;
  return result;
}

}  // namespace

Task<ArrivalSummary> sum_up(Rank& self, ArrivalSamples samples, double delay_ns) {
  Team& world = self.world();
  const auto iterations = static_cast<double>(samples.begun.size());
  const double mean = mean_of(samples.ended) - mean_of(samples.begun);
  std::vector<double> times = samples.begun;
  times.insert(times.end(), samples.ended.begin(), samples.ended.end());
  const std::uint32_t node_first = self.core().region().first_rank_of(self.node());
  co_await self.request(node_first, NodeTimes::on_times, std::as_bytes(std::span(times)));

  Extremes extremes(samples, mean);
  co_await world.all_reduce(std::span(extremes.values), Smaller());
  std::vector<double> root_begun = samples.begun;
  co_await world.broadcast(root_begun, 0);

  Sums sums;
  sums.time = mean;
  if (self.id() == node_first) co_await add_node(self, samples, extremes, root_begun, delay_ns, sums);
  co_await world.all_reduce(sums.values(), std::plus<>());
  ArrivalSummary summary;
  summary.slowest = extremes.slowest();
  summary.fastest = extremes.fastest();
  summary.mean = sums.time / self.size();
  for (std::size_t i = 0; i < extremes.iterations; ++i)
    summary.complete += (extremes.last_ended(i) - root_begun[i]) / iterations;
  if (sums.other_nodes > 0) summary.reach = sums.reach / (sums.other_nodes * iterations);
  summary.leader = lateness(sums.leader, sums.leader_bins, sums.nodes * iterations);
  summary.first = lateness(sums.first, sums.first_bins, sums.nodes * iterations);
  co_return summary;
}

}  // namespace coracle::internals::bench
