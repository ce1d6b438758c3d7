// Region, sockets and directory of a node.
#include "runtime/launch/node_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/launch/interfaces.hpp"
#include "runtime/launch/processes.hpp"

namespace coracle::internals {

NodeShare::NodeShare(const JobOptions& options, std::uint32_t node, std::vector<NodeAddress> addresses)
    : addresses_(std::move(addresses)) {
  if (options.shape.placement == Placement::pvas) check_pvas();
  ranks_ = std::make_unique<LocalRanks>(options, NodePart{node, options.ranks_per_node});
  const NodeAddress at = addresses_.size() == 1 ? addresses_.front() : NodeAddress{};
  ranks_->listen_at(at);
  health_ = std::make_unique<HealthResponder>(at, options.shape.key);
}

NodeCard card_of(const JobRegion& region, const std::vector<NodeAddress>& addresses, std::uint16_t health_port) {
  NodeCard card;
  std::copy(addresses.begin(), addresses.end(), card.record.addresses.begin());
  card.record.health_port = health_port;
  const std::string host = host_name();
  host.copy(card.record.host.data(), card.record.host.size() - 1);
  card.machine = machine_number();
  for (std::uint32_t rank = region.first_rank(); region.is_local(rank); ++rank) card.ports.push_back(region.port(rank));
  return card;
}

void share_machines(JobDirectory& directory, std::uint32_t node) {
  directory.first_on_machine = 0;
  directory.ranks_on_machine = 0;
  for (std::uint32_t other = 0; other < directory.cards.size(); ++other) {
    if (directory.cards[other].machine != directory.cards[node].machine) continue;
    const auto ranks = static_cast<std::uint32_t>(directory.cards[other].ports.size());
    if (other < node) directory.first_on_machine += ranks;
    directory.ranks_on_machine += ranks;
  }
}

void enter_directory(JobRegion& region, const JobDirectory& directory) {
  if (directory.cards.size() != region.shape().nodes)
    throw Error(Errc::bad_input,
                fmt::format("{} nodes in the directory of a job of {}", directory.cards.size(), region.shape().nodes));
  for (std::uint32_t node = 0; node < region.shape().nodes; ++node) {
    const NodeCard& card = directory.cards[node];
    if (card.ports.size() != region.ranks_of(node))
      throw Error(Errc::bad_input, fmt::format("node {} has {} ranks, but {} ports in the directory", node,
                                               region.ranks_of(node), card.ports.size()));
    region.node(node) = card.record;
    for (std::uint32_t i = 0; i < card.ports.size(); ++i) region.port(region.first_rank_of(node) + i) = card.ports[i];
  }
}

void NodeShare::enter(const JobDirectory& directory) {
  JobRegion& region = ranks_->region();
  enter_directory(region, directory);
  const std::uint32_t most = std::max(directory.ranks_on_machine, region.ranks());
  ranks_->set_share({std::min(directory.first_on_machine, most - region.ranks()), most});
}

}  // namespace coracle::internals
