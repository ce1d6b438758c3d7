/* One job of two programs: `several_programs NUMBER RANKS...`, with the program's number and how many ranks each has.
 * The second is built with SECOND, and so has its functions and handles at other places. */
#include "check.h"

#include <string.h>

#ifdef SECOND
int padding[100000] = {1};
static const int kNumber = 1;
#else
int padding[1] = {1};
static const int kNumber = 0;
#endif

static void check_number(int programs, char** ranks) {
  int *found, flag = 0, first = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &found, &flag);
  REQUIRE(flag && *found == kNumber, "MPI_APPNUM is %d", flag ? *found : -1);
  const char* variable = getenv("CORACLE_PROGRAM"); /* where a launcher of Coracle has started this */
  REQUIRE(getenv("CORACLE_JOB") == NULL || (variable != NULL && atoi(variable) == kNumber), "CORACLE_PROGRAM");
  REQUIRE(kNumber < programs, "there are %d", programs);
  char maxprocs[16] = "";
  if (variable != NULL) MPI_Info_get(MPI_INFO_ENV, "maxprocs", 15, maxprocs, &flag);
  REQUIRE(variable == NULL || (flag && strcmp(maxprocs, ranks[kNumber]) == 0), "maxprocs is %s", maxprocs);
  for (int i = 0; i < kNumber; ++i) first += atoi(ranks[i]);
  const int last = first + atoi(ranks[kNumber]) - 1;
  REQUIRE(first <= rank_of_world && rank_of_world <= last, "ranks %d to %d", first, last);
}

/* Such as are sent at once, and such as wait for their receiver. */
static void check_messages(void) {
  const int right = (rank_of_world + 1) % size_of_world;
  const int left = (rank_of_world + size_of_world - 1) % size_of_world;
  for (int count = 1; count <= 1 << 20; count <<= 10) {
    int* out = allocate(sizeof(int) * count);
    int* in = allocate(sizeof(int) * count);
    for (int i = 0; i < count; ++i) out[i] = made_up(rank_of_world, i, count);
    MPI_Sendrecv(out, count, MPI_INT, right, 3, in, count, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) REQUIRE(in[i] == made_up(left, i, count), "element %d of %d", i, count);
    free(in);
    free(out);
  }
}

/* Not commutative: the value of the lowest rank remains. */
static void take_first(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  memcpy(inout, in, sizeof(int) * *count);
}

static void check_collectives(void) {
  int sum = 0;
  MPI_Allreduce(&padding[0], &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REQUIRE(sum == size_of_world, "the sum is %d", sum);
  MPI_Op first;
  MPI_Op_create(take_first, 0, &first);
  int lowest = -1;
  const int mine = 100 + rank_of_world;
  MPI_Allreduce(&mine, &lowest, 1, MPI_INT, first, MPI_COMM_WORLD);
  REQUIRE(lowest == 100, "the first is %d", lowest);
  MPI_Op_free(&first);
  MPI_Comm own;
  MPI_Comm_split(MPI_COMM_WORLD, kNumber, rank_of_world, &own);
  int numbers[2] = {kNumber, -kNumber};
  MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INT, MPI_MAX, own);
  REQUIRE(numbers[0] == kNumber && numbers[1] == -kNumber, "programs %d to %d", -numbers[1], numbers[0]);
  MPI_Comm_free(&own);
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  REQUIRE(argc > 2 && atoi(argv[1]) == kNumber, "this is program %d", kNumber);
  check_number(argc - 2, argv + 2);
  check_messages();
  check_collectives();
  return end_checks("several programs");
}
