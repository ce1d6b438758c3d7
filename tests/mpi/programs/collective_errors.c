/* Wrong arguments of collectives are refused by class before anything is sent, or, where only the root sees them, when
 * all has been done, so that the communicator stays usable. */
#include "check.h"

static void expect(int code, int expected, const char* what) {
  int found = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &found);
  REQUIRE(found == expected, "%s: class %d, expected %d", what, found, expected);
}

static void try_errors(MPI_Comm comm) {
  int value = 1, result = 0, sum = 0, size;
  MPI_Datatype raw;
  MPI_Request request = MPI_REQUEST_NULL;
  int* many;
  MPI_Comm_size(comm, &size);
  many = allocate((size_t)size * sizeof(int));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Type_contiguous(2, MPI_INT, &raw);

  expect(MPI_Bcast(&value, 1, MPI_INT, size, comm), MPI_ERR_ROOT, "bcast, root behind the last");
  expect(MPI_Bcast(&value, 1, MPI_INT, -1, comm), MPI_ERR_ROOT, "bcast, root below 0");
  expect(MPI_Bcast(&value, -1, MPI_INT, 0, comm), MPI_ERR_COUNT, "bcast, count below 0");
  expect(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE, "bcast, no datatype");
  expect(MPI_Bcast(&value, 0, raw, 0, comm), MPI_ERR_TYPE, "bcast, datatype not committed");
  expect(MPI_Ibcast(&value, 1, MPI_INT, size, comm, &request), MPI_ERR_ROOT, "ibcast, root");
  expect(MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_BAND, comm), MPI_ERR_OP, "bits of a double");
  expect(MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_MAXLOC, comm), MPI_ERR_OP, "places of an int");
  expect(MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP, "no operation");
  expect(MPI_Allreduce(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "result in place");
  expect(MPI_Reduce(&value, &result, -3, MPI_INT, MPI_SUM, 0, comm), MPI_ERR_COUNT, "reduce, count");
  expect(MPI_Allgather(&value, -1, MPI_INT, many, 1, MPI_INT, comm), MPI_ERR_COUNT, "allgather, count");
  expect(MPI_Alltoall(many, 1, MPI_INT, many + 0, 1, MPI_DATATYPE_NULL, comm), MPI_ERR_TYPE, "alltoall, datatype");
  /* Of which class, Open MPI does not say. */
  REQUIRE(MPI_Neighbor_allgather(&value, 1, MPI_INT, many, 1, MPI_INT, comm) != MPI_SUCCESS, "no neighbours");

  expect(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS, "afterwards");
  REQUIRE(sum == size, "the sum is %d", sum);
  MPI_Type_free(&raw);
  free(many);
}

/* What only the root sees is the root's error: the others' calls end as they should. */
static void try_misfits(MPI_Comm comm) {
  enum { kEach = 10 };
  int size, rank, sum = 0, at_root;
  MPI_Request request;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  int* counts = allocate((size_t)size * sizeof(int));
  int* places = allocate((size_t)size * sizeof(int));
  int* many = allocate((size_t)size * kEach * sizeof(int));
  int few[kEach] = {0};
  for (int i = 0; i < size; ++i) {
    counts[i] = kEach;
    places[i] = i * kEach;
  }
  for (int i = 0; i < size * kEach; ++i) many[i] = i;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int root = size - 1;
  at_root = rank == root ? MPI_ERR_TRUNCATE : MPI_SUCCESS;

  expect(MPI_Gather(few, kEach, MPI_INT, many, 1, MPI_INT, root, comm), at_root, "gather");
  REQUIRE(many[1] == 1 && many[size] == size, "the root's memory is as it was");
  expect(MPI_Igather(few, kEach, MPI_INT, many, 1, MPI_INT, root, comm, &request), MPI_SUCCESS, "igather");
  expect(MPI_Wait(&request, MPI_STATUS_IGNORE), at_root, "the end of igather");
  expect(MPI_Gatherv(few, rank == root ? 1 : kEach, MPI_INT, many, counts, places, MPI_INT, root, comm), at_root,
         "gatherv");
  for (int i = 0; i < size * kEach; ++i) many[i] = i;
  expect(MPI_Scatter(many, kEach, MPI_INT, few, rank == root ? 1 : kEach, MPI_INT, root, comm), at_root, "scatter");
  REQUIRE(few[0] == (rank == root ? 0 : rank * kEach), "scattered: %d", few[0]);
  expect(MPI_Scatterv(many, counts, places, MPI_INT, few, rank == root ? 1 : kEach, MPI_INT, root, comm), at_root,
         "scatterv");
  REQUIRE(few[0] == (rank == root ? 0 : rank * kEach), "scattered in blocks: %d", few[0]);

  expect(MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS, "afterwards");
  REQUIRE(sum == size * size, "the sum is %d", sum);
  free(counts);
  free(places);
  free(many);
}

int main(int argc, char** argv) {
  MPI_Comm other;
  start_checks(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM, "barrier of nobody");
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  try_errors(other);
  try_misfits(other);
  MPI_Comm_free(&other);
  return end_checks("collective_errors");
}
