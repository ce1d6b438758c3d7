/* Communicators until there is no room for another one (`coracle run --segment 4M`): an error at all, which breaks
 * nothing. */
#include "check.h"

enum { kMost = 4096 };

static int works(MPI_Comm comm) {
  int sum = 0;
  const int mine = 1;
  return MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size_of_world;
}

/* Gives how many there are. */
static int fill(MPI_Comm* comms) {
  int count = 0, error = MPI_SUCCESS, class = 0, least = 0;
  while (count < kMost && (error = MPI_Comm_dup(MPI_COMM_WORLD, &comms[count])) == MPI_SUCCESS) ++count;
  REQUIRE(count < kMost, "the segment is larger than this test wants");
  MPI_Error_class(error, &class);
  REQUIRE(class == MPI_ERR_NO_MEM, "class %d", class);
  MPI_Allreduce(&count, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  REQUIRE(count == least && count > 10, "%d here, %d elsewhere", count, least);
  return count;
}

int main(int argc, char** argv) {
  MPI_Comm* comms;
  start_checks(&argc, &argv);
  comms = allocate(kMost * sizeof *comms);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int round = 0; round < 3; ++round) {
    const int count = fill(comms);
    MPI_Request request;
    MPI_Comm refused;
    if (MPI_Comm_idup(MPI_COMM_WORLD, &refused, &request) == MPI_SUCCESS)
      REQUIRE(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS, "there was no room");
    REQUIRE(works(MPI_COMM_WORLD), "round %d", round);
    for (int i = 0; i < count; ++i) REQUIRE(works(comms[i]), "communicator %d, round %d", i, round);
    for (int i = 0; i < count; ++i) MPI_Comm_free(&comms[i]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(comms);
  return end_checks("full_segment");
}
