// The times of the collectives other than broadcast, between nodes.
//
// Source of the formulas: Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH
// (IJHPCA 2005), with LogGP's overhead and gap added.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "collectives/model.hpp"

namespace coracle {
namespace {

constexpr Algorithm kReduce[] = {Algorithm::binomial, Algorithm::halving};
constexpr Algorithm kAllReduce[] = {Algorithm::doubling, Algorithm::halving, Algorithm::ring};
constexpr Algorithm kRooted[] = {Algorithm::binomial, Algorithm::linear};
constexpr Algorithm kGatherAll[] = {Algorithm::bruck, Algorithm::ring};
constexpr Algorithm kReduceScatter[] = {Algorithm::halving, Algorithm::pairwise};
constexpr Algorithm kAllToAll[] = {Algorithm::bruck, Algorithm::pairwise};
constexpr Algorithm kScan[] = {Algorithm::doubling, Algorithm::ring};

/// What an algorithm does: messages one after the other, messages of one member, bytes through the busiest port, and
/// bytes combined.
struct Work {
  double steps;
  double messages;
  double bytes;
  double combined;
};

Work work_of(Collective collective, Algorithm algorithm, double m, double p) {
  const double log = std::bit_width(static_cast<std::uint32_t>(p) - 1);
  const double rest = (p - 1) / p;
  const bool combines = collective == Collective::reduce || collective == Collective::all_reduce ||
                        collective == Collective::reduce_scatter || collective == Collective::scan;
  const bool scattered = collective == Collective::gather_all || collective == Collective::reduce_scatter ||
                         collective == Collective::all_to_all || collective == Collective::gather ||
                         collective == Collective::scatter;
  const double all = scattered ? m * p : m;  // what the largest buffer has
  const double c = combines ? 1 : 0;
  switch (algorithm) {
    case Algorithm::linear:
      return {1, p - 1, all * rest, 0};
    case Algorithm::binomial:
      if (scattered) return {log, log, all * rest, 0};
      return {log, log, m * log, c * m * log};
    case Algorithm::doubling:
      return {log, log, m * log, c * m * log};
    case Algorithm::halving:
      if (collective == Collective::reduce_scatter) return {log, log, all * rest, all * rest};
      return {2 * log, 2 * log, 2 * m * rest, m * rest};
    case Algorithm::ring:
      if (collective == Collective::all_reduce) return {2 * (p - 1), 2 * (p - 1), 2 * m * rest, m * rest};
      if (collective == Collective::scan) return {p - 1, 1, m, c * m};  // a chain, in pieces
      return {p - 1, p - 1, all * rest, 0};
    case Algorithm::bruck:
      if (collective == Collective::all_to_all) return {log, log, all / 2 * log, 0};
      return {log, log, all * rest, 0};
    case Algorithm::pairwise:
      return {collective == Collective::all_to_all ? 1.0 : p - 1, p - 1, all * rest, c * all * rest};
    case Algorithm::automatic:
      break;
  }
  return {};
}

constexpr std::array<std::string_view, kCollectives> kCollectiveNames = {
    "reduce", "all_reduce", "gather", "gather_all", "scatter", "reduce_scatter", "all_to_all", "scan"};
constexpr std::array<std::string_view, 8> kAlgorithmNames = {"automatic", "linear", "binomial", "doubling",
                                                             "halving",   "ring",   "bruck",    "pairwise"};
constexpr std::array<std::string_view, 4> kMethodNames = {"automatic", "plain", "pipelined", "competitive"};
constexpr std::array<std::string_view, 4> kTreeNames = {"automatic", "binomial", "recursive_doubling", "ring"};

}  // namespace

std::string_view name_of(Collective collective) noexcept {
  return kCollectiveNames[static_cast<std::size_t>(collective)];
}
std::string_view name_of(Algorithm algorithm) noexcept {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}
std::string_view name_of(BroadcastMethod method) noexcept {
  return kMethodNames[static_cast<std::size_t>(method)];
}
std::string_view name_of(BroadcastTree tree) noexcept {
  return kTreeNames[static_cast<std::size_t>(tree)];
}

std::span<const Algorithm> algorithms_of(Collective collective) noexcept {
  switch (collective) {
    case Collective::reduce:
      return kReduce;
    case Collective::all_reduce:
      return kAllReduce;
    case Collective::gather:
    case Collective::scatter:
      return kRooted;
    case Collective::gather_all:
      return kGatherAll;
    case Collective::reduce_scatter:
      return kReduceScatter;
    case Collective::all_to_all:
      return kAllToAll;
    case Collective::scan:
      return kScan;
  }
  return {};
}

double CostModel::collective_ns(Collective collective, Algorithm algorithm, std::size_t bytes,
                                std::uint32_t participants) const noexcept {
  if (participants <= 1) return 0;
  const Work work = work_of(collective, algorithm, static_cast<double>(bytes), participants);
  const Costs::Between& cost = costs_.between;
  // Messages that wait for each other pay latency and overhead; others leave one after the other.
  return work.steps * (cost.latency_ns + cost.overhead_ns) +
         std::max(0.0, work.messages - work.steps) * std::max(cost.gap_ns, cost.overhead_ns) +
         work.bytes / cost.bandwidth_bytes_per_ns + work.combined / costs_.inside.bandwidth_bytes_per_ns;
}

Algorithm CostModel::choose(Collective collective, std::size_t bytes, std::uint32_t participants) const noexcept {
  double least_ns = std::numeric_limits<double>::infinity();
  Algorithm best = Algorithm::automatic;
  for (const Algorithm algorithm : algorithms_of(collective)) {
    const double ns = collective_ns(collective, algorithm, bytes, participants);
    if (ns >= least_ns) continue;
    least_ns = ns;
    best = algorithm;
  }
  return best;
}

}  // namespace coracle
