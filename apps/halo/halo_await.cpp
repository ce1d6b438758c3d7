// halo_mpi.cpp with another exchange: where that had messages, a coroutine puts this tile's edges into the neighbours'
// rims and raises a signal at each; what it waits for are the signals of its own. The rest of the program is as it was.
#include <mpi.h>

#include <coracle/coracle.hpp>
#include <coracle/mpi.hpp>

#include <cinttypes>
#include <cstdio>
#include <utility>
#include <vector>

#include "heat.h"

namespace {

using coracle::Layout;
using coracle::Rank;
using coracle::Remote;
using coracle::Signal;
using coracle::Slab;
using coracle::Task;
using coracle::Team;

// What a process tells the others of its tile.
struct Place {
  Remote<double> cells;    // two arrays, one behind the other
  Remote<Signal> arrived;  // by side
  Tile tile;
};

// Memory that neighbours reach. Made by all processes of the communicator, and gone before MPI_Finalize.
struct Exchange {
  Exchange(MPI_Comm grid, const Tile& tile)
      : team(coracle::from_mpi(grid)),
        cells(team.rank().allocate<double>(2 * cell_count(&tile))),
        arrived(team.rank().allocate_signals(kSides)),
        mine{cells.remote(), arrived.remote(), tile},
        places(coracle::await(team.gather_all(mine))) {
    MPI_Cart_shift(grid, 0, 1, &neighbours[kUp], &neighbours[kDown]);
    MPI_Cart_shift(grid, 1, 1, &neighbours[kLeft], &neighbours[kRight]);
  }

  Team& team;
  Slab<double> cells;
  Slab<Signal> arrived;
  Place mine;
  std::vector<Place> places;  // by rank
  int neighbours[kSides];
};

Layout edge_layout(const Tile& tile, int side) {
  const Layout number = coracle::layout_of(MPI_DOUBLE);
  if (side == kUp || side == kDown) return number.contiguous(tile.width);
  return number.vector(tile.height, 1, static_cast<std::int64_t>(row_pitch(&tile)));
}

// In step `i` the cells lie in array i % 2. A neighbour puts there what it has made in its step i - 1, for which it has
// awaited the signals of this process's step i - 1, and so after this process has read its rim of step i - 2 there.
Task<> run(Exchange& exchange, int i) {
  Rank& self = exchange.team.rank();
  const Tile& tile = exchange.mine.tile;
  for (int side = 0; side < kSides; ++side) {
    if (exchange.neighbours[side] == MPI_PROC_NULL) continue;
    const Place& there = exchange.places[static_cast<std::size_t>(exchange.neighbours[side])];
    const int end = opposite(side);
    const double* from = exchange.cells.data() + (i % 2) * cell_count(&tile) + edge(&tile, side);
    const auto to = static_cast<std::ptrdiff_t>((i % 2) * cell_count(&there.tile) + halo(&there.tile, end));
    const Layout here_layout = edge_layout(tile, side);
    const Layout there_layout = edge_layout(there.tile, end);
    const coracle::ScatteredSource source{from, here_layout};
    co_await self.put(source, there.cells + to, there_layout);
    co_await self.raise(there.arrived + end);
  }
  for (int side = 0; side < kSides; ++side)
    if (exchange.neighbours[side] != MPI_PROC_NULL)
      co_await self.wait(exchange.arrived[static_cast<std::size_t>(side)], static_cast<std::uint64_t>(i) + 1);
}

std::uint64_t warm_up(MPI_Comm grid, const Tile& tile) {
  Exchange exchange(grid, tile);
  double* from = exchange.cells.data();
  double* to = from + cell_count(&tile);
  heat_up(&tile, from);
  for (int i = 0; i < kSteps; ++i) {
    coracle::await(run(exchange, i));
    step(&tile, from, to);
    std::swap(from, to);
  }
  coracle::await(exchange.team.barrier());  // nobody gives memory back that a neighbour still writes to
  return digest(&tile, from);
}

int main_between(MPI_Comm grid, const int (&dims)[2]) {
  int rank = 0;
  MPI_Comm_rank(grid, &rank);
  int place[2];
  MPI_Cart_coords(grid, rank, 2, place);
  const std::uint64_t mine = warm_up(grid, tile_at(dims[0], dims[1], place[0], place[1]));
  std::uint64_t all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, grid);
  if (rank == 0) std::printf("digest of the plate: %016" PRIx64 "\n", all);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int dims[2] = {0, 0};
  const int periods[2] = {0, 0};
  MPI_Dims_create(size, 2, dims);
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  try {
    main_between(grid, dims);
  } catch (const coracle::Error& error) {
    std::fprintf(stderr, "halo_await: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm_free(&grid);
  MPI_Finalize();
}
