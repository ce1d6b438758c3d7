// The time of a broadcast, by its parts: the pieces' way over the nodes, their spreading inside a node, and the waiting
// for leaders who come late.
#include "collectives/choice/model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "collectives/broadcast/broadcast_rules.hpp"

namespace coracle::internals {
namespace {

double steps_of(std::uint32_t participants) noexcept {
  return participants <= 1 ? 0 : std::bit_width(participants - 1);
}

/// Levels below the root of a tree of `size` in which each has up to `fan_out` children.
double levels_of(std::uint32_t size, std::uint32_t fan_out) noexcept {
  std::uint64_t reached = 1;
  std::uint64_t level = 1;
  double levels = 0;
  for (; reached < size; ++levels) reached += level *= std::max(fan_out, 1U);
  return levels;
}

}  // namespace

/// Pieces on their way to the last node.
struct CostModel::Stream {
  double first_ns;  // when the first is there
  double last_ns;   // when the last is
  double piece_bytes;
  double pieces;
};

double CostModel::message_ns(double bytes) const noexcept {
  const Costs::Between& cost = costs_.between;
  return cost.overhead_ns + cost.latency_ns + bytes / cost.bandwidth_bytes_per_ns;
}

double CostModel::port_ns(double bytes) const noexcept {
  const Costs::Between& cost = costs_.between;
  return std::max(cost.overhead_ns, cost.gap_ns) + bytes / cost.bandwidth_bytes_per_ns;
}

CostModel::Stream CostModel::between_ns(const BroadcastChoice& choice, double bytes,
                                        std::uint32_t nodes) const noexcept {
  const double most = choice.tree == BroadcastTree::binomial ? bytes : std::ceil(bytes / nodes);
  const double chunk = choice.method == BroadcastMethod::plain ? most : static_cast<double>(choice.chunk_bytes);
  const double piece = std::max(1.0, std::min(most, chunk));
  const double pieces = std::max(1.0, std::ceil(bytes / piece));
  if (nodes <= 1) return {0, 0, piece, pieces};
  return choice.tree == BroadcastTree::binomial ? tree_ns(choice, nodes, piece, pieces)
                                                : scatter_gather_ns(choice, bytes, nodes, piece, pieces);
}

CostModel::Stream CostModel::tree_ns(const BroadcastChoice& choice, std::uint32_t nodes, double piece,
                                     double pieces) const noexcept {
  const double steps = steps_of(nodes);
  const double hello_ns = message_ns(0);  // where a node receives, its sender must be told first
  // A node sends to all its children at once, so that they share its port: on the mean the way to the last node waits
  // for half of those beside it.
  const double first_ns =
      hello_ns + steps * message_ns(0) + steps * (steps + 3) / 4 * piece / costs_.between.bandwidth_bytes_per_ns;
  // After that the root's port is what all wait for; no more than `depth` pieces are on the way to one node.
  const double answer_ns = (message_ns(piece) + costs_.between.latency_ns) / std::max(choice.depth, 1U);
  return {first_ns, first_ns + (pieces - 1) * std::max(steps * port_ns(piece), answer_ns), piece, pieces};
}

CostModel::Stream CostModel::scatter_gather_ns(const BroadcastChoice& choice, double bytes, std::uint32_t nodes,
                                               double piece, double pieces) const noexcept {
  constexpr double kMeeting = 1.3;  // messages of the scatter and of the all-gather meet at the ports
  const double steps = steps_of(nodes);
  const double share_ns = bytes / nodes * (nodes - 1) / costs_.between.bandwidth_bytes_per_ns;
  const double hops = choice.tree == BroadcastTree::ring ? nodes - 1 : steps;
  // Pieces that are cut from a node's share cost their port.
  const double cut_ns = port_ns(0) * std::max(0.0, pieces - nodes);
  const double scatter_ns = message_ns(0) + steps * message_ns(0) + share_ns + cut_ns;
  return {scatter_ns, scatter_ns + hops * message_ns(0) + kMeeting * share_ns + cut_ns, piece, pieces};
}

double CostModel::inside_ns(const BroadcastChoice& choice, std::uint32_t local_size,
                            const Stream& stream) const noexcept {
  if (local_size <= 1) return stream.last_ns;
  const Costs::Inside& cost = costs_.inside;
  const std::uint32_t fan_out = std::clamp(choice.fan_out, 1U, local_size - 1);
  const double levels = levels_of(local_size, fan_out);
  const double share = std::max(1.0, fan_out / cost.readers);  // of the buffer's bandwidth
  const double copy_ns = cost.flag_ns + stream.piece_bytes / cost.bandwidth_bytes_per_ns * share;
  const double through_ns = levels * (cost.latency_ns + copy_ns);
  const double rest_ns = (stream.pieces - 1) * copy_ns;
  if (choice.method == BroadcastMethod::plain) return stream.last_ns + through_ns + rest_ns;
  return std::max(stream.last_ns + through_ns, stream.first_ns + through_ns + rest_ns);
}

double CostModel::short_ns(double bytes, TeamShape shape) const noexcept {
  const Costs::Inside& cost = costs_.inside;
  const double between = steps_of(shape.nodes) * message_ns(bytes);
  if (shape.local_size == 1) return between;
  // Into the leader's arena, and out of it.
  const double share = std::max(1.0, (shape.local_size - 1) / cost.readers);
  return between + cost.latency_ns + 2 * cost.flag_ns + bytes / cost.bandwidth_bytes_per_ns * (1 + share);
}

double CostModel::arrival_ns(const BroadcastChoice& choice, TeamShape shape) const noexcept {
  if (shape.nodes <= 1) return 0;
  // How much later one leader comes than the one before it, on the mean, if it does, for arrivals that are uniform in
  // [0, K]: K / 6 for two of them, and K n / ((n + 1) (2 n + 1)) when each is the first of n.
  const bool competes = choice.method == BroadcastMethod::competitive;
  const double first_of = competes ? std::min(shape.local_size, kCompetitorsMax) : 1;
  const double hop_ns = costs_.arrival_spread_ns * first_of / ((first_of + 1) * (2 * first_of + 1));
  const double steps = steps_of(shape.nodes);
  const double hops = choice.tree == BroadcastTree::binomial             ? steps
                      : choice.tree == BroadcastTree::recursive_doubling ? 2 * steps
                                                                         : steps + (shape.nodes - 1);
  // Who leads must tell all who may lead its sender's node where it receives.
  return hops * hop_ns + (first_of - 1) * costs_.between.overhead_ns;
}

double CostModel::broadcast_ns(const BroadcastChoice& choice, std::size_t bytes, TeamShape shape) const noexcept {
  const auto size = static_cast<double>(bytes);
  if (shape.nodes * shape.local_size == 1) return 0;
  const double late_ns = arrival_ns(choice, shape);
  if (is_short_broadcast(shape.nodes, bytes, choice)) return late_ns + short_ns(size, shape);
  return late_ns + inside_ns(choice, shape.local_size, between_ns(choice, size, shape.nodes));
}

}  // namespace coracle::internals
