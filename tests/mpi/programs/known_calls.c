/* Rank 0 waits for rank 1 at lines and in functions that are known, for call_sites.py. With an argument it crashes in
   the end. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static void sleep_ms(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

__attribute__((noinline)) static int await_word(void) {
  int word = 0;
  MPI_Recv(&word, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* the receive */
  return word;
}

__attribute__((noinline)) static int add(int mine) {
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* the sum */
  return sum;
}

__attribute__((noinline)) static void crash(void) {
  abort(); /* the crash */
}

int main(int argc, char** argv) {
  int rank = 0;
  int word = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    word = await_word();
  } else if (rank == 1) {
    sleep_ms(300);
    word = 5;
    MPI_Send(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    sleep_ms(200);
  }
  const int sum = add(word);
  if (argc > 1) crash();
  MPI_Finalize();
  return sum == 10 ? 0 : 1;
}
