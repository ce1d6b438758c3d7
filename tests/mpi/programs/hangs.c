/* A program that hangs, each rank in another way: "hangs WHERE", on 4 processes. It says nothing itself:
 * ../wrong_programs.py reads its hang report. */
#include <string.h>

#include "check.h"

static MPI_Comm ocean;

static void wait_for_many(void) {
  int values[3];
  MPI_Request requests[4];
  MPI_Irecv(&values[0], 1, MPI_INT, 0, 3, ocean, &requests[0]);
  MPI_Irecv(&values[1], 1, MPI_INT, MPI_ANY_SOURCE, 4, ocean, &requests[1]);
  MPI_Irecv(&values[2], 1, MPI_INT, 2, MPI_ANY_TAG, ocean, &requests[2]);
  MPI_Isend(&values[0], 0, MPI_INT, MPI_PROC_NULL, 0, ocean, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void in_messages(void) {
  int value = 1, sum = 0;
  if (rank_of_world == 0) MPI_Recv(&value, 1, MPI_INT, 1, 7, ocean, MPI_STATUS_IGNORE);
  if (rank_of_world == 1) MPI_Send(&value, 1, MPI_INT, 0, 8, ocean);
  if (rank_of_world == 1) wait_for_many();
  if (rank_of_world == 2) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, ocean);
  if (rank_of_world == 3)
    for (volatile int forever = 1; forever;) continue;
}

static void in_long_messages(void) {
  static char data[1 << 20];
  MPI_Comm odd;
  MPI_Comm_split(MPI_COMM_WORLD, rank_of_world % 2, 0, &odd);
  if (rank_of_world == 0) MPI_Ssend(data, 1, MPI_CHAR, 1, 2, odd);
  if (rank_of_world == 1) MPI_Probe(MPI_ANY_SOURCE, 9, odd, MPI_STATUS_IGNORE);
  if (rank_of_world == 2)
    MPI_Sendrecv(data, 0, MPI_CHAR, MPI_PROC_NULL, 0, data, 1, MPI_CHAR, 0, 5, odd, MPI_STATUS_IGNORE);
  if (rank_of_world == 3) MPI_Barrier(odd);
}

static void in_cycles(void) {
  int value = 1;
  MPI_Recv(&value, 1, MPI_INT, rank_of_world ^ 1, 7, ocean, MPI_STATUS_IGNORE);
}

static void without_one(void) {
  int value = 1, sum = 0;
  if (rank_of_world == 1) MPI_Recv(&value, 1, MPI_INT, 0, 3, ocean, MPI_STATUS_IGNORE);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, ocean);
}

static void at_the_end(void) {
  MPI_Request request;
  int value;
  if (rank_of_world != 1) return;
  MPI_Irecv(&value, 1, MPI_INT, 0, 6, ocean, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  const char* where = argc > 1 ? argv[1] : "";
  start_checks(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &ocean);
  MPI_Comm_set_name(ocean, "ocean");
  if (strcmp(where, "messages") == 0) in_messages();
  if (strcmp(where, "long-messages") == 0) in_long_messages();
  if (strcmp(where, "cycles") == 0) in_cycles();
  if (strcmp(where, "missing") == 0) without_one();
  if (strcmp(where, "end") == 0) at_the_end();
  MPI_Finalize();
  return 0;
}
