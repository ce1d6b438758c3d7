// Communicators with a topology.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/collectives.hpp"
#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/comm_create.hpp"
#include "interfaces/mpi/core/numbers.hpp"
#include "interfaces/mpi/core/topology.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/core_functions.hpp"

namespace coracle::mpi {
namespace {

/// The first `count` members of `comm`, in their order; null elsewhere.
Comm* first_members(Comm& comm, Count count) {
  return split_comm(comm, comm.rank() < count ? 0 : kUndefined, comm.rank());
}

/// An edge of a distributed graph, as any member may say it.
struct Edge {
  int source;
  int destination;
  int weight;
};

/// All members' edges, in the order of the members.
std::vector<Edge> gather_edges(Comm& comm, const std::vector<Edge>& mine) {
  auto gathering = comm.team().gather_all(mine);
  const std::vector<std::vector<Edge>> all = World::get().wait<CollectiveNote>(gathering, comm);
  std::vector<Edge> edges;
  for (const std::vector<Edge>& each : all) edges.insert(edges.end(), each.begin(), each.end());
  return edges;
}

void check_neighbour(const Comm& comm, Count neighbour, const char* what) {
  if (neighbour < 0 || neighbour >= comm.size())
    raise(ErrorClass::rank, "a place of {} is {}: a rank of this communicator is from 0 to {}", what, neighbour,
          comm.size() - 1);
}

/// Without weights all edges have the same.
int weight_of(Numbers weights, std::size_t place) {
  if (weights.is_null()) return 1;
  if (weights.is_at(&kNoWeights))
    raise(ErrorClass::arg, "edge {} has no weight: weights are MPI_WEIGHTS_EMPTY, or a null pointer", place);
  return static_cast<int>(weights[place]);
}

}  // namespace

void cart_create(Comm* comm_old, Count ndims, Numbers dims, const int* periods, bool, Comm*& comm_cart) {
  Comm& comm = checked_intra(comm_old);
  if (ndims < 0) raise(ErrorClass::dims, "ndims is {}: a grid has 0 dimensions or more", ndims);
  Cartesian grid;
  Count cells = 1;
  for (Count i = 0; i < ndims; ++i) {
    const Count length = dims[static_cast<std::size_t>(i)];
    if (length < 1) raise(ErrorClass::dims, "dims[{}] is {}: each dimension has 1 or more", i, length);
    if (__builtin_mul_overflow(cells, length, &cells) || cells > comm.size())
      raise(ErrorClass::dims, "dims make a grid of more cells than the communicator has members, which are {}: {}",
            comm.size(), "take smaller dims, as MPI_Dims_create finds them");
    grid.dims.push_back(static_cast<int>(length));
    grid.periodic.push_back(periods[i] != 0);
  }
  comm_cart = first_members(comm, cells);
  if (comm_cart == nullptr) return;
  grid.coordinates = coordinates_of(grid, comm_cart->rank());
  comm_cart->topology = std::make_unique<Topology>(std::move(grid));
}

void cart_sub(Comm* comm, const int* remain_dims, Comm*& newcomm) {
  Comm& of = checked(comm);
  const auto* grid = of.topology ? std::get_if<Cartesian>(of.topology.get()) : nullptr;
  if (grid == nullptr) raise(ErrorClass::topology, "the communicator has no Cartesian topology");
  Cartesian part;
  int color = 0;
  int key = 0;
  for (std::size_t i = 0; i < grid->dims.size(); ++i) {
    int& number = remain_dims[i] != 0 ? key : color;
    number = number * grid->dims[i] + grid->coordinates[i];
    if (remain_dims[i] == 0) continue;
    part.dims.push_back(grid->dims[i]);
    part.periodic.push_back(grid->periodic[i]);
    part.coordinates.push_back(grid->coordinates[i]);
  }
  newcomm = split_comm(of, color, key);
  newcomm->topology = std::make_unique<Topology>(std::move(part));
}

void graph_create(Comm* comm_old, Count nnodes, Numbers index, Numbers edges, bool, Comm*& comm_graph) {
  Comm& comm = checked_intra(comm_old);
  if (nnodes < 0 || nnodes > comm.size())
    raise(ErrorClass::arg, "nnodes is {}: the communicator has {} members", nnodes, comm.size());
  Graph graph;
  Count last = 0;
  for (Count i = 0; i < nnodes; ++i) {
    const Count end = index[static_cast<std::size_t>(i)];
    if (end < last) raise(ErrorClass::arg, "index[{}] is {}, which is less than the one before", i, end);
    graph.index.push_back(static_cast<int>(last = end));
  }
  for (Count i = 0; i < last; ++i) {
    const Count neighbour = edges[static_cast<std::size_t>(i)];
    if (neighbour < 0 || neighbour >= nnodes)
      raise(ErrorClass::arg, "edges[{}] is {}: nodes are from 0 to {}", i, neighbour, nnodes - 1);
    graph.edges.push_back(static_cast<int>(neighbour));
  }
  comm_graph = first_members(comm, nnodes);
  if (comm_graph != nullptr) comm_graph->topology = std::make_unique<Topology>(std::move(graph));
}

void dist_graph_create_adjacent(Comm* comm_old, Count indegree, Numbers sources, Numbers sourceweights, Count outdegree,
                                Numbers destinations, Numbers destweights, Info*, bool, Comm*& comm_dist_graph) {
  Comm& comm = checked_intra(comm_old);
  if (indegree < 0 || outdegree < 0)
    raise(ErrorClass::arg, "degrees are {} and {}: both are 0 or more", indegree, outdegree);
  DistributedGraph graph;
  graph.weighted = !sourceweights.is_null() || !destweights.is_null();
  const auto take = [&comm](Count degree, Numbers from, Numbers weights, std::vector<int>& ranks,
                            std::vector<int>& weights_of, const char* what) {
    for (Count i = 0; i < degree; ++i) {
      const auto place = static_cast<std::size_t>(i);
      check_neighbour(comm, from[place], what);
      ranks.push_back(static_cast<int>(from[place]));
      weights_of.push_back(weight_of(weights, place));
    }
  };
  take(indegree, sources, sourceweights, graph.sources, graph.source_weights, "sources");
  take(outdegree, destinations, destweights, graph.destinations, graph.destination_weights, "destinations");
  comm_dist_graph = first_members(comm, comm.size());
  comm_dist_graph->topology = std::make_unique<Topology>(std::move(graph));
}

void dist_graph_create(Comm* comm_old, Count n, Numbers sources, Numbers degrees, Numbers destinations, Numbers weights,
                       Info*, bool, Comm*& comm_dist_graph) {
  Comm& comm = checked_intra(comm_old);
  if (n < 0) raise(ErrorClass::arg, "n is {}: it is 0 or more", n);
  std::vector<Edge> mine;
  std::size_t place = 0;
  for (Count i = 0; i < n; ++i) {
    const auto node = static_cast<std::size_t>(i);
    check_neighbour(comm, sources[node], "sources");
    for (Count each = 0; each < degrees[node]; ++each, ++place) {
      check_neighbour(comm, destinations[place], "destinations");
      mine.push_back(
          {static_cast<int>(sources[node]), static_cast<int>(destinations[place]), weight_of(weights, place)});
    }
  }
  DistributedGraph graph;
  graph.weighted = !weights.is_null();
  for (const Edge& edge : gather_edges(comm, mine)) {
    if (edge.destination == comm.rank()) {
      graph.sources.push_back(edge.source);
      graph.source_weights.push_back(edge.weight);
    }
    if (edge.source == comm.rank()) {
      graph.destinations.push_back(edge.destination);
      graph.destination_weights.push_back(edge.weight);
    }
  }
  comm_dist_graph = first_members(comm, comm.size());
  comm_dist_graph->topology = std::make_unique<Topology>(std::move(graph));
}

}  // namespace coracle::mpi
