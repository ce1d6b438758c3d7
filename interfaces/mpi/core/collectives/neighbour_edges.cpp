// Which message goes along which edge.
#include "interfaces/mpi/core/collectives/neighbour_edges.hpp"

#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi::collectives {

Edges edges_of(const Comm& comm) {
  if (comm.topology == nullptr)
    raise(ErrorClass::topology,
          "the communicator has no topology: make it by MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create");
  return edges_of(*comm.topology, comm.rank());
}

Edges edges_of(const Topology& topology, int rank) {
  const Neighbours neighbours = neighbours_of(topology, rank);
  // In a grid a process may be the neighbour on both sides of a dimension (where that has one or two places and goes
  // around): what goes down has a tag of its own, since it is received from above.
  const bool by_side = std::holds_alternative<Cartesian>(topology);
  Edges edges;
  edges.tags = by_side ? 2 : 1;
  for (std::size_t i = 0; i < neighbours.sources.size(); ++i)
    edges.sources.push_back({neighbours.sources[i], by_side ? static_cast<std::uint32_t>(i % 2) : 0});
  for (std::size_t i = 0; i < neighbours.destinations.size(); ++i)
    edges.destinations.push_back({neighbours.destinations[i], by_side ? static_cast<std::uint32_t>(1 - i % 2) : 0});
  return edges;
}

}  // namespace coracle::mpi::collectives
