/* The plate of halo_mpi.cpp in C, by <coracle.h>: cut into strips of rows, so that edges lie in a row. Each process
   puts its first and last row into its neighbours' rims, with a signal each. */
#include <coracle.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "heat.h"

/* Ends the job where a function of Coracle has failed. */
static void check(int result) {
  if (result == CORACLE_OK) return;
  fprintf(stderr, "halo_put: %s\n", coracle_error_text());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What is at `index` of the array that step `i` reads. */
static size_t offset_of(const Tile* tile, int i, size_t index) {
  return ((size_t)(i % 2) * cell_count(tile) + index) * sizeof(double);
}

/* Puts the row along `side` into the rim of the neighbour of that side, whose tile may be of another height. */
static void put_row(coracle_memory* memory, const Tile* tile, int i, int side) {
  const int rank = coracle_rank(memory) + (side == kUp ? -1 : 1);
  if (rank < 0 || rank >= coracle_size(memory)) return;
  const Tile there = tile_at(coracle_size(memory), 1, rank, 0);
  const char* row = (const char*)coracle_local(memory) + offset_of(tile, i, edge(tile, side));
  const size_t place = offset_of(&there, i, halo(&there, opposite(side)));
  check(coracle_put_signal(memory, rank, place, row, (size_t)tile->width * sizeof(double), opposite(side)));
}

static void exchange(coracle_memory* memory, const Tile* tile, int i) {
  put_row(memory, tile, i, kUp);
  put_row(memory, tile, i, kDown);
  if (coracle_rank(memory) > 0) check(coracle_wait_signal(memory, kUp, (uint64_t)i + 1));
  if (coracle_rank(memory) + 1 < coracle_size(memory)) check(coracle_wait_signal(memory, kDown, (uint64_t)i + 1));
  check(coracle_flush(memory));
}

int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const Tile tile = tile_at(size, 1, rank, 0);
  coracle_memory* memory = NULL;
  check(coracle_allocate(MPI_COMM_WORLD, 2 * cell_count(&tile) * sizeof(double), 2, &memory));
  double* arrays[2] = {coracle_local(memory), (double*)coracle_local(memory) + cell_count(&tile)};
  heat_up(&tile, arrays[0]);
  for (int i = 0; i < kSteps; ++i) {
    exchange(memory, &tile, i);
    step(&tile, arrays[i % 2], arrays[(i + 1) % 2]);
  }
  const uint64_t mine = digest(&tile, arrays[kSteps % 2]);
  uint64_t all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("digest of the plate: %016" PRIx64 "\n", all);
  check(coracle_free(&memory));
  MPI_Finalize();
  return 0;
}
