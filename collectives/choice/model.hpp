// CostModel: predicts how long a collective takes, and so chooses how it goes. What is chosen depends only on what all
// members know alike: the sizes, the team's shape, and costs that the job has agreed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "collectives/choice/costs.hpp"
#include "runtime/team/algorithm.hpp"
#include "runtime/team/broadcast_choice.hpp"

namespace coracle::internals {

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
  struct Stream;

  /// One message, from its start to its arrival.
  double message_ns(double bytes) const noexcept;
  /// How long one message keeps a node's port.
  double port_ns(double bytes) const noexcept;
  Stream between_ns(const BroadcastChoice& choice, double bytes, std::uint32_t nodes) const noexcept;
  Stream tree_ns(const BroadcastChoice& choice, std::uint32_t nodes, double piece, double pieces) const noexcept;
  Stream scatter_gather_ns(const BroadcastChoice& choice, double bytes, std::uint32_t nodes, double piece,
                           double pieces) const noexcept;
  double inside_ns(const BroadcastChoice& choice, std::uint32_t local_size, const Stream& stream) const noexcept;
  double short_ns(double bytes, TeamShape shape) const noexcept;
  double arrival_ns(const BroadcastChoice& choice, TeamShape shape) const noexcept;

  Costs costs_;
};

}  // namespace coracle::internals
