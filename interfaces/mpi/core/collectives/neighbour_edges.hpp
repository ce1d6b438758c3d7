// Edges: with whom a process exchanges in the collectives of a topology's neighbours, and by which messages.
#pragma once

#include <cstdint>
#include <vector>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/topology.hpp"

namespace coracle::mpi::collectives {

/// One neighbour, of those that it sends to or receives from. Between two processes there may be several: each is a
/// message, and those with one tag are matched in their order.
struct Edge {
  int peer;           ///< kProcNull: nobody.
  std::uint32_t tag;  ///< Counted from the collective's first.
};

struct Edges {
  std::vector<Edge> sources;
  std::vector<Edge> destinations;
  std::uint32_t tags = 1;  ///< How many are used.
};

/// In MPI's order. Throws MpiError (topology) where the communicator has none.
Edges edges_of(const Comm& comm);
Edges edges_of(const Topology& topology, int rank);

}  // namespace coracle::mpi::collectives
