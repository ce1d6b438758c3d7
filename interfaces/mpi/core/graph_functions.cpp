// MPI's functions that ask a communicator for its kind of topology, and for its graph.
#include <algorithm>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/numbers.hpp"

namespace coracle::mpi {

namespace {

template <class T>
const T& topology_of(Comm* comm, const char* makers) {
  const Topology* topology = checked(comm).topology.get();
  const T* graph = topology != nullptr ? std::get_if<T>(topology) : nullptr;
  if (graph == nullptr)
    raise(ErrorClass::topology, "{} has no such graph: {} communicators that have one", comm->label(), makers);
  return *graph;
}

const Graph& graph_of(Comm* comm) {
  return topology_of<Graph>(comm, "MPI_Graph_create makes");
}

const DistributedGraph& distributed_graph_of(Comm* comm) {
  return topology_of<DistributedGraph>(comm, "MPI_Dist_graph_create and MPI_Dist_graph_create_adjacent make");
}

/// The first of `values`, as many as the program has room for. It may ask for no weights by a null pointer.
void show(const std::vector<int>& values, int room, int* target, const char* what) {
  if (room < 0) raise(ErrorClass::arg, "{} is {}: it must be 0 or more", what, room);
  if (target != nullptr) std::copy_n(values.begin(), std::min(static_cast<std::size_t>(room), values.size()), target);
}

}  // namespace

void topo_test(Comm* comm, int& status) {
  constexpr TopologyKind kKinds[] = {TopologyKind::cartesian, TopologyKind::graph, TopologyKind::distributed_graph};
  const Topology* topology = checked(comm).topology.get();
  status = static_cast<int>(topology != nullptr ? kKinds[topology->index()] : TopologyKind::none);
}

void graphdims_get(Comm* comm, int& nnodes, int& nedges) {
  const Graph& graph = graph_of(comm);
  nnodes = static_cast<int>(graph.index.size());
  nedges = static_cast<int>(graph.edges.size());
}

void graph_get(Comm* comm, int maxindex, int maxedges, int* index, int* edges) {
  const Graph& graph = graph_of(comm);
  show(graph.index, maxindex, index, "maxindex");
  show(graph.edges, maxedges, edges, "maxedges");
}

void graph_neighbors_count(Comm* comm, int rank, int& nneighbors) {
  nneighbors = static_cast<int>(neighbours_in(graph_of(comm), rank).size());
}

void graph_neighbors(Comm* comm, int rank, int maxneighbors, int* neighbors) {
  show(neighbours_in(graph_of(comm), rank), maxneighbors, neighbors, "maxneighbors");
}

/// Ranks stay as they are, as in cart_map().
void graph_map(Comm* comm, int nnodes, Numbers index, Numbers edges, int& newrank) {
  const Comm& members = checked(comm);
  if (nnodes < 1) raise(ErrorClass::arg, "nnodes is {}: it must be 1 or more", nnodes);
  Graph graph;
  for (std::size_t i = 0; i < static_cast<std::size_t>(nnodes); ++i) graph.index.push_back(static_cast<int>(index[i]));
  for (std::size_t i = 0; static_cast<Count>(i) < graph.index.back(); ++i)
    graph.edges.push_back(static_cast<int>(edges[i]));
  check_graph(graph, members.size());
  newrank = members.rank() < nnodes ? members.rank() : kUndefined;
}

void dist_graph_neighbors_count(Comm* comm, int& indegree, int& outdegree, bool& weighted) {
  const DistributedGraph& graph = distributed_graph_of(comm);
  indegree = static_cast<int>(graph.sources.size());
  outdegree = static_cast<int>(graph.destinations.size());
  weighted = graph.weighted;
}

/// Weights null: MPI_UNWEIGHTED. Of a graph without weights they stay as they are.
void dist_graph_neighbors(Comm* comm, int maxindegree, int* sources, int* sourceweights, int maxoutdegree,
                          int* destinations, int* destweights) {
  const DistributedGraph& graph = distributed_graph_of(comm);
  show(graph.sources, maxindegree, sources, "maxindegree");
  show(graph.source_weights, maxindegree, sourceweights, "maxindegree");
  show(graph.destinations, maxoutdegree, destinations, "maxoutdegree");
  show(graph.destination_weights, maxoutdegree, destweights, "maxoutdegree");
}

}  // namespace coracle::mpi
