/* What the binary interface does by itself: constants, statuses, strings, the program's functions, error handlers, and
 * functions that a profiler puts in front of MPI's. */
#include <string.h>

#include "check.h"

static int sends;

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}

static void check_statuses(void) {
  MPI_Status status;
  memset(&status, 0x55, sizeof status);
  int out = rank_of_world, in = -1, count = -1;
  const int left = (rank_of_world + size_of_world - 1) % size_of_world, right = (rank_of_world + 1) % size_of_world;
  MPI_Request request;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  MPI_Send(&out, 1, MPI_INT, right, 11, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  REQUIRE(status.MPI_SOURCE == left && status.MPI_TAG == 11 && count == 1, "from %d", status.MPI_SOURCE);
  REQUIRE(status.MPI_ERROR == 0x55555555, "MPI_ERROR is left alone, now %x", (unsigned)status.MPI_ERROR);
  REQUIRE(sends == 1, "%d sends", sends);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  REQUIRE(count == MPI_UNDEFINED, "%d doubles", count);
  MPI_Wait(&request, &status);
  REQUIRE(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "the empty status");
  MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  REQUIRE(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG, "from %d", status.MPI_SOURCE);
  MPI_Fint numbers[6];
  MPI_Status again;
  MPI_Status_c2f(&status, numbers);
  MPI_Status_f2c(numbers, &again);
  REQUIRE(numbers[0] == MPI_PROC_NULL && again.MPI_SOURCE == MPI_PROC_NULL, "in Fortran %d", numbers[0]);
}

/* More than lie on the stack. */
static void check_many_requests(void) {
  enum { kMany = 200 };
  static MPI_Request requests[2 * kMany];
  static MPI_Status statuses[2 * kMany];
  static int in[kMany], out[kMany];
  int done = 0, indices[2 * kMany];
  for (int i = 0; i < kMany; ++i) {
    out[i] = i;
    MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    MPI_Isend(&out[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[kMany + i]);
  }
  for (int left = 2 * kMany; left > 0; left -= done) {
    MPI_Waitsome(2 * kMany, requests, &done, indices, statuses);
    REQUIRE(done > 0, "%d left", left);
    for (int i = 0; i < done; ++i)
      REQUIRE(indices[i] >= kMany || statuses[i].MPI_TAG == indices[i], "tag %d", statuses[i].MPI_TAG);
  }
  for (int i = 0; i < kMany; ++i) REQUIRE(in[i] == i && requests[i] == MPI_REQUEST_NULL, "message %d", i);
  MPI_Waitsome(2 * kMany, requests, &done, indices, statuses);
  REQUIRE(done == MPI_UNDEFINED, "%d", done);
}

static void check_constants(void) {
  MPI_Datatype type, inner;
  int integers[8], counts[4];
  const int sizes[2] = {4, 5}, parts[2] = {2, 3}, starts[2] = {1, 1};
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
  MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &counts[3]);
  REQUIRE(counts[0] == 8 && counts[1] == 0 && counts[2] == 1 && counts[3] == MPI_COMBINER_SUBARRAY, "%d", counts[3]);
  MPI_Type_get_contents(type, 8, 0, 1, integers, NULL, &inner);
  REQUIRE(integers[7] == MPI_ORDER_FORTRAN && inner == MPI_INT, "order %d", integers[7]);
  MPI_Type_free(&type);
  int result;
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
  REQUIRE(result == MPI_IDENT, "%d", result);
  MPI_Topo_test(MPI_COMM_WORLD, &result);
  REQUIRE(result == MPI_UNDEFINED, "%d", result);
  MPI_Group group;
  const int ranks[2] = {0, MPI_PROC_NULL};
  int other[2];
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_translate_ranks(group, 2, ranks, group, other);
  REQUIRE(other[0] == 0 && other[1] == MPI_PROC_NULL, "%d %d", other[0], other[1]);
  MPI_Group_free(&group);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  REQUIRE(node != MPI_COMM_NULL, "no node");
  MPI_Comm_free(&node);
}

static int copies, deletes;

static int copy_attribute(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval;
  ++copies;
  *(void**)out = (char*)in + *(int*)extra;
  *flag = 1;
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}

static void check_attributes(void) {
  int keyval, step = 2, flag;
  char values[4], *value;
  MPI_Comm comm;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, &step);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, values);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_get_attr(comm, keyval, &value, &flag);
  REQUIRE(flag && value == values + 2 && copies == 1, "%d copies", copies);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free(&comm);
  REQUIRE(deletes == 2, "%d ends", deletes);
  MPI_Comm_free_keyval(&keyval);
  REQUIRE(keyval == MPI_KEYVAL_INVALID, "%d", keyval);
  int* number;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag);
  REQUIRE(flag && *number >= 32767, "the largest tag");
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &number, &flag);
  REQUIRE(flag && *number == MPI_PROC_NULL, "the host is %d", *number);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &number, &flag);
  REQUIRE(flag && *number == MPI_ANY_SOURCE, "files are for %d", *number);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &values[1]);
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_get_attr(comm, keyval, &value, &flag);
  REQUIRE(flag && value == &values[1], "a copy as it is");
  MPI_Comm_free(&comm);
}

static int handled_class;

static void handle(MPI_Comm* comm, int* code, ...) {
  REQUIRE(*comm == MPI_COMM_WORLD, "another communicator");
  MPI_Error_class(*code, &handled_class);
}

/* MPI 3.1 has no class for them. */
static void check_null_handlers(void) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler), class;
  MPI_Error_class(code, &class);
  REQUIRE(class == MPI_ERR_ARG, "class %d", class);
  code = MPI_Errhandler_free(&handler);
  MPI_Error_class(code, &class);
  REQUIRE(class == MPI_ERR_ARG, "class %d", class);
}

static void check_errors(void) {
  MPI_Errhandler handler;
  char text[MPI_MAX_ERROR_STRING];
  int length, code;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
  REQUIRE(handler == MPI_ERRHANDLER_NULL, "not freed");
  PMPI_Send(&length, 1, MPI_INT, size_of_world, 0, MPI_COMM_WORLD);
  REQUIRE(handled_class == MPI_ERR_RANK, "class %d", handled_class);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_null_handlers();
  MPI_Win window;
  code = MPI_Win_create(&length, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  REQUIRE(code == MPI_ERR_UNSUPPORTED_OPERATION, "code %d", code);
  MPI_Error_string(code, text, &length);
  REQUIRE(length == (int)strlen(text) && length > 0, "%d", length);
  int small[1], large[2] = {1, 2};
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(small, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
  MPI_Isend(large, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  code = MPI_Waitall(2, requests, statuses);
  REQUIRE(code == MPI_ERR_IN_STATUS && statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE, "%d %d", code, statuses[0].MPI_ERROR);
  REQUIRE(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "left over");
  /* A list that names a receive twice is wrong, but the receive ends once: its communicator can still be freed and
   * made. */
  for (int round = 0; round < 50; ++round) {
    MPI_Comm once;
    MPI_Comm_dup(MPI_COMM_SELF, &once);
    MPI_Irecv(small, 1, MPI_INT, 0, 1, once, &requests[0]);
    requests[1] = requests[0];
    MPI_Send(large, 1, MPI_INT, 0, 1, once);
    REQUIRE(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS && requests[1] == MPI_REQUEST_NULL, "twice");
    MPI_Comm_free(&once);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void check_texts(void) {
  MPI_Info info;
  char value[8] = "zzzzzzz", name[MPI_MAX_OBJECT_NAME];
  int flag, length;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "a long value");
  MPI_Info_get(info, "key", 3, value, &flag);
  REQUIRE(flag && strcmp(value, "a l") == 0 && value[4] == 'z', "%s", value);
  MPI_Info_get(info, "none", 3, value, &flag);
  REQUIRE(!flag && strcmp(value, "a l") == 0, "%s", value);
  MPI_Info_free(&info);
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  REQUIRE(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14, "%s", name);
  int version, subversion;
  MPI_Get_version(&version, &subversion);
  REQUIRE(version == 3 && subversion == 1, "%d.%d", version, subversion);
}

static void check_tools(void) {
  int provided, count = -1;
  REQUIRE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no tools");
  MPI_T_cvar_get_num(&count);
  REQUIRE(count == 0, "%d variables", count);
  MPI_T_finalize();
  REQUIRE(MPI_T_cvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED, "tools after their end");
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  check_statuses();
  check_many_requests();
  check_constants();
  check_attributes();
  check_errors();
  check_texts();
  check_tools();
  return end_checks("interface");
}
