/* What the test programs of MPI share: requirements that say where they failed, and made-up data. */
#pragma once

#include <mpi.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int rank_of_world;
static int size_of_world;
static long checks_made;

/* Ends the job, with a text. */
#define REQUIRE(condition, ...)                                                \
  do {                                                                         \
    __atomic_fetch_add(&checks_made, 1, __ATOMIC_RELAXED); /* any thread's */  \
    if (!(condition)) fail_check(__FILE__, __LINE__, #condition, __VA_ARGS__); \
  } while (0)

static inline void fail_check(const char* file, int line, const char* condition, const char* format, ...) {
  va_list values;
  fprintf(stderr, "rank %d of %d: %s:%d: not so: %s: ", rank_of_world, size_of_world, file, line, condition);
  va_start(values, format);
  vfprintf(stderr, format, values);
  va_end(values);
  fputc('\n', stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static inline void start_checks(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
  MPI_Comm_size(MPI_COMM_WORLD, &size_of_world);
}

static inline int end_checks(const char* name) {
  long all = 0;
  MPI_Reduce(&checks_made, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank_of_world == 0) printf("%s: %ld checks on %d processes\n", name, all, size_of_world);
  MPI_Finalize();
  return 0;
}

/* Memory that is never null. */
static inline void* allocate(size_t bytes) {
  void* memory = malloc(bytes + 1);
  REQUIRE(memory != NULL, "no memory of %zu bytes", bytes);
  return memory;
}

/* A number that depends on all three, of 0 to 2^31 - 1. */
static inline int made_up(int a, int b, int c) {
  unsigned long long mixed = ((unsigned long long)a * 1000003u + (unsigned long long)b * 7919u + (unsigned)c + 1u);
  mixed *= 0x9e3779b97f4a7c15ULL;
  return (int)(mixed >> 33);
}
