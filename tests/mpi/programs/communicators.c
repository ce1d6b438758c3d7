/* Communicators made in several ways, again and again; their handles' numbers; and what a failure leaves behind. */
#include "check.h"

static int copies_deleted;

static int copy_well(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static int copy_badly(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_OTHER;
}

static int count_deletion(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++copies_deleted;
  return MPI_SUCCESS;
}

static int sum_of_ranks(MPI_Comm comm) {
  int sum = 0;
  MPI_Allreduce(&rank_of_world, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

/* Evens and odds at once: two groups that have no member in common. */
static void disjoint_groups(void) {
  MPI_Group all, mine;
  MPI_Comm made;
  int members[256], count = 0, expected = 0, size = 0;
  for (int rank = rank_of_world % 2; rank < size_of_world; rank += 2) {
    members[count++] = rank;
    expected += rank;
  }
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, count, members, &mine);
  MPI_Comm_create(MPI_COMM_WORLD, mine, &made);
  MPI_Comm_size(made, &size);
  REQUIRE(size == count, "%d of %d", size, count);
  REQUIRE(sum_of_ranks(made) == expected, "members");
  MPI_Comm_free(&made);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
}

/* By its members alone, many times, and two of them with other tags. */
static void groups_alone(void) {
  const int all = size_of_world * (size_of_world - 1) / 2;
  for (int round = 0; round < 100; ++round) {
    MPI_Group group;
    MPI_Comm first, second;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &first);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 4, &second);
    REQUIRE(sum_of_ranks(first) == all && sum_of_ranks(second) == all, "round %d", round);
    MPI_Comm_free(&first);
    MPI_Group_free(&group);
    MPI_Comm_free(&second);
  }
}

/* A group's number stands for it as long as it lives, whoever else frees a handle of it. */
static void numbers(void) {
  MPI_Group first, second;
  int size = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &first);
  const MPI_Fint number = MPI_Group_c2f(first);
  MPI_Group_free(&first);
  MPI_Comm_group(MPI_COMM_WORLD, &second);
  MPI_Group_size(MPI_Group_f2c(MPI_Group_c2f(second)), &size);
  REQUIRE(size == size_of_world, "%d, number %d", size, (int)number);
  MPI_Group_free(&second);
}

/* Attributes that a failed duplicate has copied are deleted. */
static void failing_copies(void) {
  int good, bad, value = 1;
  MPI_Comm source, copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &source);
  MPI_Comm_set_errhandler(source, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(copy_well, count_deletion, &good, NULL);
  MPI_Comm_create_keyval(copy_badly, MPI_COMM_NULL_DELETE_FN, &bad, NULL);
  MPI_Comm_set_attr(source, good, &value);
  MPI_Comm_set_attr(source, bad, &value);
  REQUIRE(MPI_Comm_dup(source, &copy) != MPI_SUCCESS, "the copy function has failed");
  const int deleted = copies_deleted;
  MPI_Comm_free(&source);
  REQUIRE(copies_deleted == deleted + 1, "the source's own");
  MPI_Comm_free_keyval(&good);
  MPI_Comm_free_keyval(&bad);
}

/* What has failed is told with its place, also where the function returns an error. */
static void failures_of_some(void) {
  int value = 0, four[4] = {1, 2, 3, 4}, done = -1, index = -1, flag = -1, class = 0;
  MPI_Request request, sending;
  MPI_Status status;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Irecv(&value, 1, MPI_INT, 0, 0, comm, &request);
  MPI_Isend(four, 4, MPI_INT, 0, 0, comm, &sending);
  MPI_Error_class(MPI_Waitsome(1, &request, &done, &index, &status), &class);
  REQUIRE(class == MPI_ERR_IN_STATUS && done == 1 && index == 0, "class %d, %d done", class, done);
  MPI_Error_class(status.MPI_ERROR, &class);
  REQUIRE(class == MPI_ERR_TRUNCATE && request == MPI_REQUEST_NULL, "class %d", class);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  MPI_Irecv(&value, 1, MPI_INT, 0, 0, comm, &request);
  MPI_Isend(four, 4, MPI_INT, 0, 0, comm, &sending);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  do {
    MPI_Error_class(MPI_Test(&request, &flag, &status), &class);
  } while (!flag);
  REQUIRE(class == MPI_ERR_TRUNCATE && request == MPI_REQUEST_NULL, "class %d", class);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

static int has_hint(MPI_Comm comm, const char* key) {
  char value[16];
  int flag = 0;
  MPI_Info info;
  MPI_Comm_get_info(comm, &info);
  MPI_Info_get(info, key, sizeof value - 1, value, &flag);
  MPI_Info_free(&info);
  return flag;
}

/* The standard's hints are kept, go to duplicates, and are joined by those that are set later; others are ignored. */
static void hints(void) {
  MPI_Comm comm, copy, other;
  MPI_Info info;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_such_hint", "true");
  MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
  MPI_Comm_set_info(comm, info);
  MPI_Info_delete(info, "mpi_assert_no_any_tag");
  MPI_Info_set(info, "mpi_assert_exact_length", "false");
  MPI_Comm_dup_with_info(comm, info, &other);
  MPI_Comm_set_info(comm, info);
  MPI_Comm_dup(comm, &copy);
  REQUIRE(!has_hint(comm, "no_such_hint") && !has_hint(copy, "no_such_hint"), "an unknown hint");
  REQUIRE(has_hint(comm, "mpi_assert_no_any_tag") && has_hint(comm, "mpi_assert_exact_length"), "set in turn");
  REQUIRE(has_hint(copy, "mpi_assert_no_any_tag") && has_hint(copy, "mpi_assert_exact_length"), "duplicated");
  REQUIRE(!has_hint(other, "mpi_assert_no_any_tag") && has_hint(other, "mpi_assert_exact_length"), "with others");
  MPI_Info_free(&info);
  MPI_Comm_free(&other);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  disjoint_groups();
  groups_alone();
  numbers();
  failing_copies();
  hints();
  failures_of_some();
  return end_checks("communicators");
}
