// NodeShare: one node's part of a job of several, from its region and sockets to its ranks. Who tells the nodes of each
// other is the caller's matter: the head of the job (node_launcher.hpp) or a resource manager (pmix_launcher.hpp).
#pragma once

#include <memory>
#include <string>

#include "runtime/launch/control_frames.hpp"
#include "runtime/launch/listeners.hpp"
#include "runtime/launch/local_ranks.hpp"

namespace coracle::internals {

/// How the ranks of `region` can be reached.
NodeCard card_of(const JobRegion& region, const std::vector<NodeAddress>& addresses, std::uint16_t health_port);
/// Writes the directory into the region. Throws Error when it is not of this job.
void enter_directory(JobRegion& region, const JobDirectory& directory);

class NodeShare {
 public:
  /// Makes the region, a listening socket per rank and the health socket. `options` must outlive this. `addresses`:
  /// where others look for this node; it listens at the only one, or, if there are more, at all that the machine has.
  /// Throws Error.
  NodeShare(const JobOptions& options, std::uint32_t node, std::vector<NodeAddress> addresses);

  LocalRanks& ranks() noexcept { return *ranks_; }
  HealthResponder& health() noexcept { return *health_; }

  /// How others reach it.
  NodeCard card() { return card_of(ranks_->region(), addresses_, health_->port()); }
  /// Tells the ranks of the others. Throws Error when the directory is not of this job.
  void enter(const JobDirectory& directory);

 private:
  std::vector<NodeAddress> addresses_;
  std::unique_ptr<LocalRanks> ranks_;
  std::unique_ptr<HealthResponder> health_;
};

/// Fills in how node `node` shares its machine with the other nodes of the directory.
void share_machines(JobDirectory& directory, std::uint32_t node);

}  // namespace coracle::internals
