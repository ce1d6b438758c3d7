// Heat in a plate, as a program of MPI has it: each process has a tile, and gets its neighbours' edges by messages
// before each step. halo_await.cpp is the same program with another exchange.
#include <mpi.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "heat.h"

namespace {

struct Neighbours {
  int ranks[kSides];  // MPI_PROC_NULL at the plate's border
  MPI_Datatype edges[kSides];
};

Neighbours neighbours_of(MPI_Comm grid, const Tile& tile) {
  Neighbours found;
  MPI_Cart_shift(grid, 0, 1, &found.ranks[kUp], &found.ranks[kDown]);
  MPI_Cart_shift(grid, 1, 1, &found.ranks[kLeft], &found.ranks[kRight]);
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(tile.width, MPI_DOUBLE, &row);
  MPI_Type_vector(tile.height, 1, static_cast<int>(row_pitch(&tile)), MPI_DOUBLE, &column);
  MPI_Type_commit(&row);
  MPI_Type_commit(&column);
  for (const int side : {kUp, kDown}) found.edges[side] = row;
  for (const int side : {kLeft, kRight}) found.edges[side] = column;
  return found;
}

void exchange(MPI_Comm grid, const Neighbours& neighbours, const Tile& tile, double* cells) {
  MPI_Request requests[2 * kSides];
  for (int side = 0; side < kSides; ++side) {
    MPI_Irecv(cells + halo(&tile, side), 1, neighbours.edges[side], neighbours.ranks[side], opposite(side), grid,
              &requests[2 * side]);
    MPI_Isend(cells + edge(&tile, side), 1, neighbours.edges[side], neighbours.ranks[side], side, grid,
              &requests[2 * side + 1]);
  }
  MPI_Waitall(2 * kSides, requests, MPI_STATUSES_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int dims[2] = {0, 0};
  const int periods[2] = {0, 0};
  MPI_Dims_create(size, 2, dims);
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  int place[2];
  MPI_Cart_coords(grid, rank, 2, place);

  const Tile tile = tile_at(dims[0], dims[1], place[0], place[1]);
  Neighbours neighbours = neighbours_of(grid, tile);
  std::vector<double> memory(2 * cell_count(&tile));
  double* from = memory.data();
  double* to = from + cell_count(&tile);
  heat_up(&tile, from);
  for (int i = 0; i < kSteps; ++i) {
    exchange(grid, neighbours, tile, from);
    step(&tile, from, to);
    std::swap(from, to);
  }

  const std::uint64_t mine = digest(&tile, from);
  std::uint64_t all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, grid);
  if (rank == 0) std::printf("digest of the plate: %016" PRIx64 "\n", all);
  MPI_Type_free(&neighbours.edges[kUp]);
  MPI_Type_free(&neighbours.edges[kLeft]);
  MPI_Comm_free(&grid);
  MPI_Finalize();
}
