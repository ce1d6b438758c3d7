// MPI's functions that ask a communicator for its grid.
#include <algorithm>

#include "interfaces/mpi/core/comm.hpp"
#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core/numbers.hpp"

namespace coracle::mpi {

namespace {

const Cartesian& grid_of(Comm* comm) {
  const Topology* topology = checked(comm).topology.get();
  const Cartesian* grid = topology != nullptr ? std::get_if<Cartesian>(topology) : nullptr;
  if (grid == nullptr)
    raise(ErrorClass::topology, "{} has no grid: MPI_Cart_create makes communicators that have one", comm->label());
  return *grid;
}

/// As many as the program has room for.
std::size_t shown(int room, std::size_t there, const char* what) {
  if (room < 0) raise(ErrorClass::arg, "{} is {}: it must be 0 or more", what, room);
  return std::min(static_cast<std::size_t>(room), there);
}

}  // namespace

void cartdim_get(Comm* comm, int& ndims) {
  ndims = static_cast<int>(grid_of(comm).dims.size());
}

void cart_get(Comm* comm, int maxdims, int* dims, int* periods, int* coords) {
  const Cartesian& grid = grid_of(comm);
  const std::size_t count = shown(maxdims, grid.dims.size(), "maxdims");
  for (std::size_t i = 0; i < count; ++i) {
    dims[i] = grid.dims[i];
    periods[i] = grid.periodic[i] ? 1 : 0;
    coords[i] = grid.coordinates[i];
  }
}

void cart_rank(Comm* comm, Numbers coords, int& rank) {
  const Cartesian& grid = grid_of(comm);
  std::vector<int> coordinates(grid.dims.size());
  for (std::size_t i = 0; i < coordinates.size(); ++i) coordinates[i] = static_cast<int>(coords[i]);
  rank = rank_at(grid, coordinates);
}

void cart_coords(Comm* comm, int rank, int maxdims, int* coords) {
  const std::vector<int> coordinates = coordinates_of(grid_of(comm), rank);
  std::copy_n(coordinates.begin(), shown(maxdims, coordinates.size(), "maxdims"), coords);
}

void cart_shift(Comm* comm, int direction, int disp, int& rank_source, int& rank_dest) {
  const Cartesian& grid = grid_of(comm);
  if (direction < 0 || static_cast<std::size_t>(direction) >= grid.dims.size())
    raise(ErrorClass::dims, "direction is {}: the grid has {} dimensions, the first is 0", direction, grid.dims.size());
  const auto dimension = static_cast<std::size_t>(direction);
  rank_source = rank_beside(grid, grid.coordinates, dimension, -std::int64_t{disp});
  rank_dest = rank_beside(grid, grid.coordinates, dimension, disp);
}

/// Ranks stay as they are: all of a node's memory is near.
void cart_map(Comm* comm, int ndims, Numbers dims, const int* periods, int& newrank) {
  const Comm& members = checked(comm);
  if (ndims < 0) raise(ErrorClass::dims, "ndims is {}: it must be 0 or more", ndims);
  Cartesian grid;
  for (std::size_t i = 0; i < static_cast<std::size_t>(ndims); ++i) {
    grid.dims.push_back(static_cast<int>(dims[i]));
    grid.periodic.push_back(periods != nullptr && periods[i] != 0);
  }
  check_grid(grid, members.size());
  newrank = members.rank() < places_of(grid) ? members.rank() : kUndefined;
}

}  // namespace coracle::mpi
