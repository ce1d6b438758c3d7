/* <coracle.h>: memory of a communicator, puts, gets and signals, and what is told of mistakes. */
#include <coracle.h>
#include <string.h>

#include "check.h"

#define REQUIRE_OK(call) REQUIRE((call) == CORACLE_OK, "%s", coracle_error_text())
/* It fails so, and the text has the words. */
#define REQUIRE_FAILURE(call, result, words)                                                                          \
  do {                                                                                                                \
    const int given = (call);                                                                                         \
    REQUIRE(given == (result) && strstr(coracle_error_text(), words) != NULL, "%d: %s", given, coracle_error_text()); \
  } while (0)

static void check_before_init(void) {
  coracle_memory* memory = NULL;
  REQUIRE(strlen(coracle_version()) >= 5, "version %s", coracle_version());
  REQUIRE(!coracle_runs_mpi(), "before MPI_Init");
  REQUIRE_FAILURE(coracle_allocate(MPI_COMM_WORLD, 8, 0, &memory), CORACLE_NOT_HERE, "MPI_Init has not been called");
  REQUIRE_FAILURE(coracle_progress(), CORACLE_NOT_HERE, "MPI_Init has not been called");
  REQUIRE(coracle_span_begin("too early") == 0, "no span before MPI_Init");
  coracle_span_end(0);
}

/* Each gives the right neighbour a number and the left one a text, by memory of a communicator in reverse order. */
static void check_transfers(void) {
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world, &reversed);
  coracle_memory* memory = NULL;
  const size_t bytes = 64 + 8 * (size_t)rank_of_world; /* not alike */
  REQUIRE_OK(coracle_allocate(reversed, bytes, 2, &memory));
  MPI_Comm_free(&reversed);
  const int size = coracle_size(memory);
  const int rank = coracle_rank(memory);
  REQUIRE(size == size_of_world && rank == size_of_world - 1 - rank_of_world, "%d of %d", rank, size);
  const char* const mine = coracle_local(memory);
  for (size_t i = 0; i < bytes; ++i) REQUIRE(mine[i] == 0, "byte %zu", i);
  MPI_Barrier(MPI_COMM_WORLD);

  const int right = (rank + 1) % size;
  const int left = (rank + size - 1) % size;
  for (uint64_t round = 1; round <= 3; ++round) {
    const uint64_t number = 1000 * round + (uint64_t)rank;
    REQUIRE_OK(coracle_put_signal(memory, right, 8, &number, sizeof number, 0));
    REQUIRE_OK(coracle_put(memory, left, 24, "a neighbour", 12));
    REQUIRE_OK(coracle_flush(memory));
    REQUIRE_OK(coracle_put_signal(memory, left, 0, NULL, 0, 1));
    REQUIRE_OK(coracle_wait_signal(memory, 0, round));
    REQUIRE_OK(coracle_wait_signal(memory, 1, round));
    uint64_t came = 0;
    memcpy(&came, mine + 8, sizeof came);
    REQUIRE(came == 1000 * round + (uint64_t)left, "%lu came", (unsigned long)came);
    REQUIRE(coracle_signal(memory, 0) >= round, "%lu", (unsigned long)coracle_signal(memory, 0));
    REQUIRE(strcmp(mine + 24, "a neighbour") == 0, "%s", mine + 24);
    uint64_t there = 0;
    REQUIRE_OK(coracle_get(memory, right, 8, &there, sizeof there));
    REQUIRE_OK(coracle_flush(memory));
    REQUIRE(there == number, "%lu is there", (unsigned long)there);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  REQUIRE_OK(coracle_progress());
  REQUIRE_OK(coracle_free(&memory));
  REQUIRE(memory == NULL, "a memory that is gone");
}

static void check_errors(void) {
  coracle_memory* memory = NULL;
  const char byte = 1;
  REQUIRE_FAILURE(coracle_allocate(MPI_COMM_NULL, 8, 0, &memory), CORACLE_BAD_ARGUMENT, "MPI_COMM_NULL");
  REQUIRE_FAILURE(coracle_allocate(MPI_COMM_WORLD, 8, -1, &memory), CORACLE_BAD_ARGUMENT, "signals is -1");
  REQUIRE_FAILURE(coracle_allocate(MPI_COMM_WORLD, 8, 0, NULL), CORACLE_BAD_ARGUMENT, "memory is a null pointer");
  /* One has no room for so much, and all hear of it. */
  REQUIRE_FAILURE(coracle_allocate(MPI_COMM_WORLD, rank_of_world == 0 ? (size_t)1 << 50 : 8, 0, &memory),
                  CORACLE_NO_MEMORY, "--segment");
  REQUIRE(memory == NULL, "no memory");
  REQUIRE_FAILURE(coracle_free(&memory), CORACLE_BAD_ARGUMENT, "null pointer");

  REQUIRE_OK(coracle_allocate(MPI_COMM_WORLD, 16, 1, &memory));
  REQUIRE_FAILURE(coracle_put(memory, size_of_world, 0, &byte, 1), CORACLE_BAD_ARGUMENT, "from 0 to");
  REQUIRE_FAILURE(coracle_put(memory, -1, 0, &byte, 1), CORACLE_BAD_ARGUMENT, "the rank is -1");
  REQUIRE_FAILURE(coracle_put(memory, 0, 16, &byte, 1), CORACLE_OUT_OF_RANGE, "which has 16");
  REQUIRE_FAILURE(coracle_put(memory, 0, (size_t)-1, &byte, 2), CORACLE_OUT_OF_RANGE, "outside");
  REQUIRE_FAILURE(coracle_put(memory, 0, 0, NULL, 1), CORACLE_BAD_ARGUMENT, "source is a null pointer");
  REQUIRE_FAILURE(coracle_put_signal(memory, 0, 0, &byte, 1, 1), CORACLE_BAD_ARGUMENT, "the signal is 1");
  REQUIRE_FAILURE(coracle_wait_signal(memory, 1, 1), CORACLE_BAD_ARGUMENT, "this rank has 1");
  REQUIRE_FAILURE(coracle_flush(NULL), CORACLE_BAD_ARGUMENT, "memory is a null pointer");
  REQUIRE(coracle_signal(memory, 1) == 0, "a signal that there is not");
  REQUIRE_OK(coracle_flush(memory));
  const char* const mine = coracle_local(memory);
  REQUIRE(mine[0] == 0, "a put that was refused");
  REQUIRE_OK(coracle_free(&memory));
}

int main(int argc, char** argv) {
  check_before_init();
  start_checks(&argc, &argv);
  REQUIRE(coracle_runs_mpi(), "after MPI_Init");
  const uint64_t span = coracle_span_begin("named by C");
  check_transfers();
  coracle_span_end(span);
  check_errors();
  return end_checks("c_interface");
}
