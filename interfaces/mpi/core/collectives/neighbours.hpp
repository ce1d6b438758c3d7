// What the collectives of neighbours have in common: a message along each edge.
#pragma once

#include <vector>

#include "interfaces/mpi/core/collectives/call.hpp"
#include "interfaces/mpi/core/collectives/neighbour_edges.hpp"
#include "interfaces/mpi/core/collectives/values.hpp"

namespace coracle::mpi::collectives {

/// The edges of a communicator's topology, and a message for each.
class NeighbourCall : public Call {
 public:
  explicit NeighbourCall(Comm* comm) : Call(comm), edges_(edges_of(*comm)) {}
  /// Takes its tags: in the order in which the members call their collectives.
  Task<> start() const;

 protected:
  std::uint32_t sources() const noexcept { return static_cast<std::uint32_t>(edges_.sources.size()); }
  std::uint32_t destinations() const noexcept { return static_cast<std::uint32_t>(edges_.destinations.size()); }
  /// Of each edge in turn.
  void send(const MessageSource& values) { sent_.push_back(values); }
  void receive(const MessageTarget& values) { received_.push_back(values); }

 private:
  Edges edges_;
  std::vector<MessageSource> sent_;
  std::vector<MessageTarget> received_;
};

}  // namespace coracle::mpi::collectives
