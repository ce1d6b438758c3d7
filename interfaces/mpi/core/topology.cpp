#include "interfaces/mpi/core/topology.hpp"

#include <algorithm>

#include "interfaces/mpi/core/error.hpp"

namespace coracle::mpi {

const int kNoWeights = 0;

namespace {

/// In each dimension the one before, and the one behind.
Neighbours neighbours_in_grid(const Cartesian& grid, int rank) {
  const std::vector<int> coordinates = coordinates_of(grid, rank);
  Neighbours neighbours;
  for (std::size_t dimension = 0; dimension < grid.dims.size(); ++dimension) {
    neighbours.sources.push_back(rank_beside(grid, coordinates, dimension, -1));
    neighbours.sources.push_back(rank_beside(grid, coordinates, dimension, 1));
  }
  neighbours.destinations = neighbours.sources;
  return neighbours;
}

std::int64_t wrapped(std::int64_t coordinate, int dim) noexcept {
  const std::int64_t rest = coordinate % dim;
  return rest < 0 ? rest + dim : rest;
}

}  // namespace

Neighbours neighbours_of(const Topology& topology, int rank) {
  if (const auto* grid = std::get_if<Cartesian>(&topology)) return neighbours_in_grid(*grid, rank);
  if (const auto* graph = std::get_if<Graph>(&topology)) {
    const std::vector<int> neighbours = neighbours_in(*graph, rank);
    return {neighbours, neighbours};
  }
  const auto& distributed = std::get<DistributedGraph>(topology);
  return {distributed.sources, distributed.destinations};
}

std::int64_t places_of(const Cartesian& grid) noexcept {
  std::int64_t places = 1;
  // No communicator has that many: beyond, a product of many more would overflow.
  for (const int dim : grid.dims) places = std::min<std::int64_t>(places * dim, INT64_C(1) << 31);
  return places;
}

void check_grid(const Cartesian& grid, int members) {
  for (std::size_t i = 0; i < grid.dims.size(); ++i) {
    if (grid.dims[i] < 1) raise(ErrorClass::dims, "dims[{}] is {}: it must be 1 or more", i, grid.dims[i]);
  }
  if (places_of(grid) > members)
    raise(ErrorClass::dims, "the grid has {} places, and the communicator {} members", places_of(grid), members);
}

int rank_at(const Cartesian& grid, const std::vector<int>& coordinates) {
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < grid.dims.size(); ++i) {
    const int dim = grid.dims[i];
    if (!grid.periodic[i] && (coordinates[i] < 0 || coordinates[i] >= dim))
      raise(ErrorClass::arg, "coordinate {} is {}: the dimension is not periodic, and has 0 to {}", i, coordinates[i],
            dim - 1);
    rank = rank * dim + wrapped(coordinates[i], dim);
  }
  return static_cast<int>(rank);
}

std::vector<int> coordinates_of(const Cartesian& grid, int rank) {
  if (rank < 0 || rank >= places_of(grid))
    raise(ErrorClass::rank, "rank {} is not in the grid, which has {} places", rank, places_of(grid));
  std::vector<int> coordinates(grid.dims.size());
  for (std::size_t i = grid.dims.size(); i-- > 0; rank /= grid.dims[i]) coordinates[i] = rank % grid.dims[i];
  return coordinates;
}

int rank_beside(const Cartesian& grid, const std::vector<int>& coordinates, std::size_t dimension, std::int64_t steps) {
  const int dim = grid.dims[dimension];
  const std::int64_t there = coordinates[dimension] + steps;
  if (!grid.periodic[dimension] && (there < 0 || there >= dim)) return kProcNull;
  std::vector<int> beside = coordinates;
  beside[dimension] = static_cast<int>(wrapped(there, dim));
  return rank_at(grid, beside);
}

void check_graph(const Graph& graph, int members) {
  const auto nodes = static_cast<int>(graph.index.size());
  if (nodes > members)
    raise(ErrorClass::arg, "the graph has {} nodes, and the communicator {} members", nodes, members);
  int before = 0;
  for (std::size_t i = 0; i < graph.index.size(); before = graph.index[i++]) {
    if (graph.index[i] < before)
      raise(ErrorClass::arg, "index[{}] is {}, less than what is before it, {}: it adds up neighbours", i,
            graph.index[i], before);
  }
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (graph.edges[i] < 0 || graph.edges[i] >= nodes)
      raise(ErrorClass::arg, "edges[{}] is {}: the graph has the nodes 0 to {}", i, graph.edges[i], nodes - 1);
  }
}

std::vector<int> neighbours_in(const Graph& graph, int rank) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= graph.index.size())
    raise(ErrorClass::rank, "rank {} is not in the graph, which has {} nodes", rank, graph.index.size());
  const auto node = static_cast<std::size_t>(rank);
  const int first = node == 0 ? 0 : graph.index[node - 1];
  return {graph.edges.begin() + first, graph.edges.begin() + graph.index[node]};
}

}  // namespace coracle::mpi
