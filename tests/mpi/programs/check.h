/* What the self-checking MPI programs have in common. */
#ifndef CORACLE_TESTS_MPI_CHECK_H
#define CORACLE_TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks_failed;
static int my_rank, all_ranks;

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "rank %d: %s:%d: %s\n", my_rank, __FILE__, __LINE__, #condition);          \
      if (++checks_failed > 20) MPI_Abort(MPI_COMM_WORLD, 3);                                   \
    }                                                                                           \
  } while (0)

static inline void begin_checks(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &all_ranks);
}

/* The exit status: 0 where no check has failed anywhere. */
static inline int end_checks(const char* name) {
  int failed = 0;
  MPI_Allreduce(&checks_failed, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0 && failed == 0) printf("%s: all checks passed on %d ranks\n", name, all_ranks);
  MPI_Finalize();
  return failed != 0;
}

#endif
