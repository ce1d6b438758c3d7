// The time of a broadcast, by its parts: the pieces' way over the nodes, their spreading inside a node, and the waiting
// for leaders who come late.
#include "collectives/choice/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "collectives/broadcast/broadcast_schedule.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {

// --- the values of Costs by name, and where they come from when nothing has been measured ---

namespace {

/// One of the values that Costs has, as files name it.
struct CostField {
  std::string_view name;
  double& (*of)(Costs& costs);
  double least;
  double most;
};

constexpr CostField kFields[] = {
    {"inside.latency_ns", [](Costs& costs) -> double& { return costs.inside.latency_ns; }, 0, 1e9},
    {"inside.flag_ns", [](Costs& costs) -> double& { return costs.inside.flag_ns; }, 0, 1e9},
    {"inside.bandwidth_bytes_per_ns", [](Costs& costs) -> double& { return costs.inside.bandwidth_bytes_per_ns; }, 1e-6,
     1e6},
    {"inside.readers", [](Costs& costs) -> double& { return costs.inside.readers; }, 1, 1e6},
    {"inside.message_ns", [](Costs& costs) -> double& { return costs.inside.message_ns; }, 0, 1e9},
    {"between.latency_ns", [](Costs& costs) -> double& { return costs.between.latency_ns; }, 0, 1e9},
    {"between.overhead_ns", [](Costs& costs) -> double& { return costs.between.overhead_ns; }, 0, 1e9},
    {"between.gap_ns", [](Costs& costs) -> double& { return costs.between.gap_ns; }, 0, 1e9},
    {"between.bandwidth_bytes_per_ns", [](Costs& costs) -> double& { return costs.between.bandwidth_bytes_per_ns; },
     1e-6, 1e6},
    {"arrival_spread_ns", [](Costs& costs) -> double& { return costs.arrival_spread_ns; }, 0, 1e12},
};

}  // namespace

Costs Costs::of_transports(Rank& rank) {
  Costs costs;
  const TransportTraits within = rank.core().transport().traits_to(rank.id());
  costs.inside.latency_ns = within.latency_ns;
  // A copy that is no plain load asks the other side for it.
  costs.inside.flag_ns = within.by_load_store ? within.overhead_ns : 2 * within.latency_ns;
  costs.inside.bandwidth_bytes_per_ns = within.bandwidth_bytes_per_ns;
  costs.inside.readers = within.readers;
  // To be sent, matched and received; and where ranks share cores, each waits for its turn.
  constexpr double kMailboxNs = 600;
  constexpr double kTurnNs = 5000;
  costs.inside.message_ns = within.latency_ns + kMailboxNs + (rank.loop().spins() ? 0 : kTurnNs);
  if (rank.nodes() == 1) return costs;
  const std::uint32_t stranger = rank.node() == 0 ? rank.size() - 1 : 0;
  const TransportTraits across = rank.core().transport_to(stranger).traits_to(stranger);
  costs.between = {across.latency_ns - across.overhead_ns, across.overhead_ns, across.gap_ns,
                   across.bandwidth_bytes_per_ns};
  return costs;
}

double set_cost(Costs& costs, std::string_view name, std::string_view value) {
  for (const CostField& field : kFields) {
    if (field.name != name) continue;
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    // NaN fails the comparisons.
    if (error != std::errc() || end != value.data() + value.size() || !(number >= field.least && number <= field.most))
      throw Error(Errc::bad_input,
                  fmt::format("{}={:?}: expected a number from {:g} to {:g}", name, value, field.least, field.most));
    return field.of(costs) = number;
  }
  std::string known;
  for (const CostField& field : kFields) known += fmt::format("{}{}", known.empty() ? "" : ", ", field.name);
  throw Error(Errc::bad_input, fmt::format("unknown name {:?}; there are {}", name, known));
}

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

/// Pieces on their way to the last node.
struct Stream {
  double first_ns;  // when the first is there
  double last_ns;   // when the last is
  double piece_bytes;
  double pieces;
};

/// One message, from its start to its arrival.
double message_ns(const Costs::Between& cost, double bytes) noexcept {
  return cost.overhead_ns + cost.latency_ns + bytes / cost.bandwidth_bytes_per_ns;
}

/// How long one message keeps a node's port.
double port_ns(const Costs::Between& cost, double bytes) noexcept {
  return std::max(cost.overhead_ns, cost.gap_ns) + bytes / cost.bandwidth_bytes_per_ns;
}

Stream tree_ns(const Costs::Between& cost, const BroadcastChoice& choice, std::uint32_t nodes, double piece,
               double pieces) noexcept {
  const double steps = steps_of(nodes);
  const double hello_ns = message_ns(cost, 0);  // where a node receives, its sender must be told first
  // A node sends to all its children at once, so that they share its port: on the mean the way to the last node waits
  // for half of those beside it.
  const double first_ns =
      hello_ns + steps * message_ns(cost, 0) + steps * (steps + 3) / 4 * piece / cost.bandwidth_bytes_per_ns;
  // After that the root's port is what all wait for; no more than `depth` pieces are on the way to one node.
  const double answer_ns = (message_ns(cost, piece) + cost.latency_ns) / std::max(choice.depth, 1U);
  return {first_ns, first_ns + (pieces - 1) * std::max(steps * port_ns(cost, piece), answer_ns), piece, pieces};
}

Stream scatter_gather_ns(const Costs::Between& cost, const BroadcastChoice& choice, double bytes, std::uint32_t nodes,
                         double piece, double pieces) noexcept {
  constexpr double kMeeting = 1.3;  // messages of the scatter and of the all-gather meet at the ports
  const double steps = steps_of(nodes);
  const double share_ns = bytes / nodes * (nodes - 1) / cost.bandwidth_bytes_per_ns;
  const double hops = choice.tree == BroadcastTree::ring ? nodes - 1 : steps;
  // Pieces that are cut from a node's share cost their port.
  const double cut_ns = port_ns(cost, 0) * std::max(0.0, pieces - nodes);
  const double scatter_ns = message_ns(cost, 0) + steps * message_ns(cost, 0) + share_ns + cut_ns;
  return {scatter_ns, scatter_ns + hops * message_ns(cost, 0) + kMeeting * share_ns + cut_ns, piece, pieces};
}

Stream between_ns(const Costs::Between& cost, const BroadcastChoice& choice, double bytes,
                  std::uint32_t nodes) noexcept {
  const double most = choice.tree == BroadcastTree::binomial ? bytes : std::ceil(bytes / nodes);
  const double chunk = choice.method == BroadcastMethod::plain ? most : static_cast<double>(choice.chunk_bytes);
  const double piece = std::max(1.0, std::min(most, chunk));
  const double pieces = std::max(1.0, std::ceil(bytes / piece));
  if (nodes <= 1) return {0, 0, piece, pieces};
  return choice.tree == BroadcastTree::binomial ? tree_ns(cost, choice, nodes, piece, pieces)
                                                : scatter_gather_ns(cost, choice, bytes, nodes, piece, pieces);
}

double inside_ns(const Costs::Inside& cost, const BroadcastChoice& choice, std::uint32_t local_size,
                 const Stream& stream) noexcept {
  if (local_size <= 1) return stream.last_ns;
  const std::uint32_t fan_out = std::clamp(choice.fan_out, 1U, local_size - 1);
  const double levels = levels_of(local_size, fan_out);
  const double share = std::max(1.0, fan_out / cost.readers);  // of the buffer's bandwidth
  const double copy_ns = cost.flag_ns + stream.piece_bytes / cost.bandwidth_bytes_per_ns * share;
  const double through_ns = levels * (cost.latency_ns + copy_ns);
  const double rest_ns = (stream.pieces - 1) * copy_ns;
  if (choice.method == BroadcastMethod::plain) return stream.last_ns + through_ns + rest_ns;
  return std::max(stream.last_ns + through_ns, stream.first_ns + through_ns + rest_ns);
}

double short_ns(const Costs& costs, double bytes, TeamShape shape) noexcept {
  const Costs::Inside& cost = costs.inside;
  const double between = steps_of(shape.nodes) * message_ns(costs.between, bytes);
  if (shape.local_size == 1) return between;
  // Into the leader's arena, and out of it.
  const double share = std::max(1.0, (shape.local_size - 1) / cost.readers);
  return between + cost.latency_ns + 2 * cost.flag_ns + bytes / cost.bandwidth_bytes_per_ns * (1 + share);
}

double arrival_ns(const Costs& costs, const BroadcastChoice& choice, TeamShape shape) noexcept {
  if (shape.nodes <= 1) return 0;
  // How much later one leader comes than the one before it, on the mean, if it does, for arrivals that are uniform in
  // [0, K]: K / 6 for two of them, and K n / ((n + 1) (2 n + 1)) when each is the first of n.
  const bool competes = choice.method == BroadcastMethod::competitive;
  const double first_of = competes ? std::min(shape.local_size, kCompetitorsMax) : 1;
  const double hop_ns = costs.arrival_spread_ns * first_of / ((first_of + 1) * (2 * first_of + 1));
  const double steps = steps_of(shape.nodes);
  const double hops = choice.tree == BroadcastTree::binomial             ? steps
                      : choice.tree == BroadcastTree::recursive_doubling ? 2 * steps
                                                                         : steps + (shape.nodes - 1);
  // Who leads must tell all who may lead its sender's node where it receives.
  return hops * hop_ns + (first_of - 1) * costs.between.overhead_ns;
}

}  // namespace

double CostModel::broadcast_ns(const BroadcastChoice& choice, std::size_t bytes, TeamShape shape) const noexcept {
  const auto size = static_cast<double>(bytes);
  if (shape.nodes * shape.local_size == 1) return 0;
  const double late_ns = arrival_ns(costs_, choice, shape);
  if (is_short_broadcast(shape.nodes, bytes, choice)) return late_ns + short_ns(costs_, size, shape);
  return late_ns +
         inside_ns(costs_.inside, choice, shape.local_size, between_ns(costs_.between, choice, size, shape.nodes));
}

}  // namespace coracle::internals
