// CostModel: predicts how long a collective takes, and so chooses how it goes. What is chosen depends only on what all
// members know alike: the sizes, the team's shape, and costs that the job has agreed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/team/choices.hpp"

namespace coracle::internals {

class Rank;

/// What moving bytes costs on the two levels of a job, as the choice of algorithms sees it. By LogGP between nodes
/// (Alexandrov, Ionescu, Schauser, Scheiman, SPAA 1995); inside a node, by flags and copies.
struct Costs {
  /// Ranks of one node, which copy from each other's memory.
  struct Inside {
    double latency_ns = 100;             ///< From a local member's word until who waits for it goes on.
    double flag_ns = 50;                 ///< What a word costs who says it, and who reads it.
    double bandwidth_bytes_per_ns = 10;  ///< Of one rank that copies.
    double readers = 4;       ///< How many ranks copy from the same buffer at a time, before they share the bandwidth.
    double message_ns = 700;  ///< A message of a collective that goes by messages.
  };
  /// Ranks of two nodes, by puts.
  struct Between {
    double latency_ns = 15'000;
    double overhead_ns = 2'000;  ///< Of a message, for its sender's processor.
    double gap_ns = 2'000;       ///< Least time between two messages of a node.
    double bandwidth_bytes_per_ns = 5;
  };
  Inside inside;
  Between between;
  /// By how much the members' arrivals are taken to differ: uniformly in [0, this].
  double arrival_spread_ns = 10'000;

  /// By the traits of the transports to a rank of this node and to one of another: the same at every rank of a job.
  static Costs of_transports(Rank& rank);
};

/// Sets the field with this name, and gives its value. Throws Error (bad_input) for an unknown name or a value that
/// makes no sense.
double set_cost(Costs& costs, std::string_view name, std::string_view value);

/// A team as the model sees it.
struct TeamShape {
  std::uint32_t nodes = 1;
  std::uint32_t local_size = 1;  ///< Members on the largest node.
  bool operator==(const TeamShape&) const = default;
};

/// Collectives between nodes, apart from broadcast, which has a choice of its own.
enum class Collective : std::uint8_t {
  reduce,
  all_reduce,
  gather,
  gather_all,
  scatter,
  reduce_scatter,
  all_to_all,
  scan,
};
inline constexpr std::size_t kCollectives = 8;

/// What a collective other than broadcast does. `participants` send each other messages: one member of each node, or
/// all members where nodes play no role. `bytes`: what each has; of a gather, gather_all, scatter, reduce_scatter and
/// all_to_all, one block (of blocks that differ, the mean).
struct Work {
  std::size_t bytes = 0;
  std::uint32_t participants = 1;
  bool on_one_node = false;  ///< All of them.
  bool operator==(const Work&) const = default;
};

/// Those that a collective has, the simplest first.
std::span<const Algorithm> algorithms_of(Collective collective) noexcept;

std::string_view name_of(Collective collective) noexcept;
std::string_view name_of(Algorithm algorithm) noexcept;
std::string_view name_of(BroadcastMethod method) noexcept;
std::string_view name_of(BroadcastTree tree) noexcept;

/// The candidate of least `cost`, where a later one must cost less than `advantage` (below 1) times the best before it:
/// what the model can't tell apart is decided by the order. One made by default where there is none.
template <class Candidates, class Cost>
auto quickest(const Candidates& candidates, double advantage, const Cost& cost) {
  double least = std::numeric_limits<double>::infinity();
  typename Candidates::value_type best{};
  for (const auto& candidate : candidates) {
    const double costs = cost(candidate);
    if (costs >= least * advantage) continue;
    least = costs;
    best = candidate;
  }
  return best;
}

class CostModel {
 public:
  explicit CostModel(const Costs& costs) noexcept : costs_(costs) {}

  const Costs& costs() const noexcept { return costs_; }

  /// From the first member's arrival to the last one's leaving, on the mean. `choice` must be complete.
  double broadcast_ns(const BroadcastChoice& choice, std::size_t bytes, TeamShape shape) const noexcept;
  /// All complete choices that make sense for this size and shape: for choosing, and for trying them all. `asked`: what
  /// is given there is in every one.
  std::vector<BroadcastChoice> broadcast_candidates(std::size_t bytes, TeamShape shape,
                                                    const BroadcastChoice& asked = {}) const;
  /// The fastest of them. A choice of recursive doubling becomes a ring where the nodes are no power of two.
  BroadcastChoice choose_broadcast(std::size_t bytes, TeamShape shape, const BroadcastChoice& asked = {}) const;

  /// Of one of the other collectives, with `bytes` as Work says.
  double collective_ns(Collective collective, Algorithm algorithm, const Work& work) const noexcept;
  /// The fastest of its algorithms; of those that take equally long, the first.
  Algorithm choose(Collective collective, const Work& work) const noexcept;

 private:
  Costs costs_;
};

}  // namespace coracle::internals
