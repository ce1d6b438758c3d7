/* A program that waits for one rank: see ../why.md. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { kCells = 20000, kSteps = 500 };
static double now[kCells + 2], next[kCells + 2];

static double relax(void) {
  double change = 0;
  for (int i = 1; i <= kCells; ++i) {
    next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
    change += fabs(next[i] - now[i]);
  }
  for (int i = 1; i <= kCells; ++i) now[i] = next[i];
  return change;
}

static void exchange_edges(int left, int right) {
  MPI_Sendrecv(&now[kCells], 1, MPI_DOUBLE, right, 0, &now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 1, &now[kCells + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static void save(int step) {
  FILE* file = fopen("heat.txt", "w");
  fprintf(file, "# step %d\n", step);
  for (int i = 1; i <= kCells; ++i) fprintf(file, "%g\n", now[i]);
  fclose(file);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  for (int i = 0; i < kCells + 2; ++i) now[i] = 20 + 5 * sin(0.01 * (rank * kCells + i));
  double change = 1;
  for (int step = 0; step < kSteps; ++step) {
    exchange_edges(left, right);
    const double mine = relax();
    MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && step % 10 == 0) save(step);
  }
  if (rank == 0) printf("change of the last step: %g\n", change);
  MPI_Finalize();
}
