// Topology: who neighbours whom in a communicator.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "interfaces/mpi/core/constants.hpp"

namespace coracle::mpi {

struct Cartesian {
  std::vector<int> dims;
  std::vector<bool> periodic;
  std::vector<int> coordinates;  ///< This member's.
};

struct Graph {
  std::vector<int> index;  ///< As MPI_Graph_create's.
  std::vector<int> edges;
};

struct DistributedGraph {
  /// Those that send to this member, in the order in which MPI_Dist_graph_neighbors gives them.
  std::vector<int> sources;
  std::vector<int> source_weights;
  std::vector<int> destinations;
  std::vector<int> destination_weights;
  bool weighted = false;
};

/// Its address stands for the weights of no edges: MPI_WEIGHTS_EMPTY, and a null pointer, which is not MPI_UNWEIGHTED.
extern const int kNoWeights;

using Topology = std::variant<Cartesian, Graph, DistributedGraph>;

/// This member's neighbours, in the order of the neighbourhood collectives (MPI-3.1, 7.6); kProcNull beyond the edge of
/// a grid.
struct Neighbours {
  std::vector<int> sources;
  std::vector<int> destinations;
};
Neighbours neighbours_of(const Topology& topology, int rank);

// Of a grid, row-major.

/// Throws MpiError (dims) for what is no grid of at most `members`.
void check_grid(const Cartesian& grid, int members);
std::int64_t places_of(const Cartesian& grid) noexcept;
/// Coordinates outside of a periodic dimension come in again. Throws MpiError (arg) outside of another.
int rank_at(const Cartesian& grid, const std::vector<int>& coordinates);
/// Throws MpiError (rank) outside.
std::vector<int> coordinates_of(const Cartesian& grid, int rank);
/// The rank `steps` further in a dimension; kProcNull beyond the edge.
int rank_beside(const Cartesian& grid, const std::vector<int>& coordinates, std::size_t dimension, std::int64_t steps);

/// Throws MpiError (topology, rank) for what is no graph of at most `members`.
void check_graph(const Graph& graph, int members);
/// Throws MpiError (rank) outside.
std::vector<int> neighbours_in(const Graph& graph, int rank);

/// MPI_Dims_create: fills the zeros of `dims`, as even as can be, in non-increasing order. Throws MpiError (dims).
void balance_dims(int nodes, std::vector<int>& dims);

}  // namespace coracle::mpi
