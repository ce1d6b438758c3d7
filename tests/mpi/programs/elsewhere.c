/* Run over Open MPI's own library: <coracle.h> says so, and the program goes on by MPI. */
#include <coracle.h>
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  coracle_memory* memory = NULL;
  start_checks(&argc, &argv);
  REQUIRE(!coracle_runs_mpi(), "another library's MPI");
  REQUIRE(coracle_allocate(MPI_COMM_WORLD, 8, 0, &memory) == CORACLE_NOT_HERE, "memory of a communicator");
  REQUIRE(strstr(coracle_error_text(), "start the program by `coracle run`") != NULL, "%s", coracle_error_text());
  return end_checks("elsewhere");
}
