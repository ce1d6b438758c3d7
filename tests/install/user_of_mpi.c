/* A program of MPI outside the tree that uses <coracle.h>: ranks give their right neighbour their number. */
#include <coracle.h>
#include <stdio.h>

static void check(int result) {
  if (result == CORACLE_OK) return;
  fprintf(stderr, "%s\n", coracle_error_text());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  coracle_memory* memory = NULL;
  check(coracle_allocate(MPI_COMM_WORLD, sizeof(int), 1, &memory));
  const int size = coracle_size(memory);
  const int rank = coracle_rank(memory);
  check(coracle_put_signal(memory, (rank + 1) % size, 0, &rank, sizeof rank, 0));
  check(coracle_wait_signal(memory, 0, 1));
  const int got = *(const int*)coracle_local(memory);
  check(coracle_free(&memory));
  MPI_Finalize();
  return got == (rank + size - 1) % size ? 0 : 1;
}
