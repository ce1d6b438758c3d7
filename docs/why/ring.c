/* A program that hangs: see ../why.md. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCells = 1 << 20 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  double* border = malloc(kCells * sizeof(double));
  double* halo = malloc(kCells * sizeof(double));
  for (int i = 0; i < kCells; ++i) border[i] = rank;
  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  MPI_Send(border, kCells, MPI_DOUBLE, right, 7, MPI_COMM_WORLD);
  MPI_Recv(halo, kCells, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  printf("rank %d has %g\n", rank, halo[0]);
  MPI_Finalize();
}
