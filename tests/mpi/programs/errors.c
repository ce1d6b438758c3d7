/* Errors: of functions without a communicator among their arguments (whose error handler is told, and what statuses
 * say), and what becomes of null pointers and of handles that were to be given. */
#include "check.h"

#define CHECK(condition) REQUIRE(condition, "%s", where)

enum { kTag = 40 };

static MPI_Comm own;   /* Whose handler is to be told. */
static MPI_Comm told;  /* Whose was told last. */
static int told_class; /* And of what. */
static int times_told;
static const char* where;

static void note(MPI_Comm* comm, int* code, ...) {
  told = *comm;
  MPI_Error_class(*code, &told_class);
  ++times_told;
}

/* The function's result is of this class, and the handler of `own` was told of that, once. */
static void check_told(const char* function, int code, int class) {
  int found = -1;
  where = function;
  MPI_Error_class(code, &found);
  CHECK(found == class);
  CHECK(times_told == 1 && told == own && told_class == class);
  times_told = 0;
}

static void check_truncated(const MPI_Status* status, int tag) {
  int count = -1;
  CHECK(status->MPI_SOURCE == rank_of_world);
  CHECK(status->MPI_TAG == tag);
  MPI_Get_count(status, MPI_INT, &count);
  CHECK(count == 0);
}

/* Sends to itself, so that it is there. */
static void send_ints(int count, int tag) {
  static const int values[4] = {1, 2, 3, 4};
  MPI_Request request;
  MPI_Isend(values, count, MPI_INT, rank_of_world, tag, own, &request);
  MPI_Request_free(&request);
}

/* Receives of one integer each: the first is well, those behind it get too many. */
static void start_receives(int* values, MPI_Request* requests, int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Irecv(&values[i], 1, MPI_INT, rank_of_world, kTag + i, own, &requests[i]);
    send_ints(i == 0 ? 1 : 4, kTag + i);
  }
}

static void functions_of_one(void) {
  int values[2], index = -1, flag = 0;
  MPI_Request requests[2];
  MPI_Status status;
  for (int form = 0; form < 4; ++form) {
    int code = MPI_SUCCESS;
    start_receives(values, requests, 2);
    MPI_Wait(&requests[0], &status);
    for (flag = 0; !flag && code == MPI_SUCCESS;) {
      flag = form % 2 == 0;
      if (form == 0) code = MPI_Wait(&requests[1], &status);
      if (form == 1) code = MPI_Test(&requests[1], &flag, &status);
      if (form == 2) code = MPI_Waitany(2, requests, &index, &status);
      if (form == 3) code = MPI_Testany(2, requests, &index, &flag, &status);
    }
    check_told(form < 2 ? "of one" : "of any", code, MPI_ERR_TRUNCATE);
    CHECK(flag && requests[1] == MPI_REQUEST_NULL && (form < 2 || index == 1));
    check_truncated(&status, kTag + 1);
  }
}

static int look_until_done(MPI_Request request) {
  int code = MPI_SUCCESS;
  for (int flag = 0; !flag;) code = MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
  return code;
}

static void functions_of_many(void) {
  enum { kMany = 3 };
  int values[kMany], indices[kMany];
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  for (int form = 0; form < 4; ++form) {
    int code = MPI_SUCCESS, flag = 0, done = kMany;
    start_receives(values, requests, kMany);
    for (int i = 0; i < kMany; ++i) look_until_done(requests[i]); /* so that MPI_Waitsome gives all */
    times_told = 0;
    for (flag = 0; !flag && code == MPI_SUCCESS;) {
      flag = form != 1;
      if (form == 0) code = MPI_Waitall(kMany, requests, statuses);
      if (form == 1) code = MPI_Testall(kMany, requests, &flag, statuses);
      if (form == 2) code = MPI_Waitsome(kMany, requests, &done, indices, statuses);
      if (form == 3) code = MPI_Testsome(kMany, requests, &done, indices, statuses);
    }
    check_told(form < 2 ? "of all" : "of some", code, MPI_ERR_IN_STATUS);
    CHECK(done == kMany);
    for (int i = 0; i < kMany; ++i) {
      int class = -1;
      MPI_Error_class(statuses[i].MPI_ERROR, &class);
      CHECK(class == (i == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE));
      CHECK(statuses[i].MPI_TAG == kTag + i && requests[i] == MPI_REQUEST_NULL);
      if (i != 0) check_truncated(&statuses[i], kTag + i);
    }
  }
}

/* It tells of the error each time, and the request stays. */
static void a_look(void) {
  int values[2], flag = 0;
  MPI_Request requests[2];
  MPI_Status status;
  start_receives(values, requests, 2);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  check_told("MPI_Request_get_status", look_until_done(requests[1]), MPI_ERR_TRUNCATE);
  check_told("again", MPI_Request_get_status(requests[1], &flag, &status), MPI_ERR_TRUNCATE);
  CHECK(flag);
  check_truncated(&status, kTag + 1);
  check_told("MPI_Wait", MPI_Wait(&requests[1], &status), MPI_ERR_TRUNCATE);
}

static void blocking(void) {
  int value = 0;
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  send_ints(4, kTag);
  check_told("MPI_Recv", MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own, &status), MPI_ERR_TRUNCATE);
  check_truncated(&status, kTag);
  send_ints(4, kTag + 1);
  check_told(
      "MPI_Sendrecv",
      MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, own, &status),
      MPI_ERR_TRUNCATE);
  check_truncated(&status, kTag + 1);
  send_ints(4, kTag + 2);
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own, &message, &status);
  check_told("MPI_Mrecv", MPI_Mrecv(&value, 1, MPI_INT, &message, &status), MPI_ERR_TRUNCATE);
  check_truncated(&status, kTag + 2);
  send_ints(4, kTag + 3);
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, own, &message, &status);
  check_told("MPI_Imrecv", MPI_Imrecv(&value, -1, MPI_INT, &message, &request), MPI_ERR_COUNT);
  CHECK(message != MPI_MESSAGE_NULL && request == MPI_REQUEST_NULL);
  MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
  check_told("MPI_Wait", MPI_Wait(&request, &status), MPI_ERR_TRUNCATE);
  check_truncated(&status, kTag + 3);
}

static void wrong_uses(void) {
  int value = 0;
  MPI_Request request;
  MPI_Recv_init(&value, 1, MPI_INT, rank_of_world, kTag, own, &request);
  MPI_Start(&request);
  check_told("MPI_Start", MPI_Start(&request), MPI_ERR_REQUEST);
  check_told("MPI_Startall", MPI_Startall(1, &request), MPI_ERR_REQUEST);
  send_ints(1, kTag);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

/* Its handler is told as long as something is under way. */
static void freed_communicator(void) {
  int value = 0, code = 0;
  MPI_Comm mine = own, copy;
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Comm_get_errhandler(own, &handler);
  MPI_Comm_dup(own, &copy);
  MPI_Comm_set_errhandler(copy, handler);
  MPI_Errhandler_free(&handler);
  own = copy;
  MPI_Irecv(&value, 1, MPI_INT, rank_of_world, kTag, copy, &request);
  send_ints(4, kTag);
  MPI_Comm_free(&copy);
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_told("MPI_Wait", code, MPI_ERR_TRUNCATE);
  own = mine;
}

static int refuse_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_OTHER;
}

/* Functions that fail give null handles. */
static void null_handles(void) {
  int value = 0, keyval = MPI_KEYVAL_INVALID;
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Datatype type = MPI_INT;
  MPI_Request request = (MPI_Request)&value;
  check_told("MPI_Isend", MPI_Isend(&value, 1, MPI_INT, size_of_world, 0, own, &request), MPI_ERR_RANK);
  CHECK(request == MPI_REQUEST_NULL);
  check_told("MPI_Comm_split", MPI_Comm_split(own, -7, 0, &comm), MPI_ERR_ARG);
  CHECK(comm == MPI_COMM_NULL);
  MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(own, keyval, NULL);
  comm = MPI_COMM_WORLD;
  check_told("MPI_Comm_dup", MPI_Comm_dup(own, &comm), MPI_ERR_OTHER);
  CHECK(comm == MPI_COMM_NULL);
  MPI_Comm_delete_attr(own, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  where = "MPI_Type_contiguous";
  CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) != MPI_SUCCESS);
  CHECK(type == MPI_DATATYPE_NULL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void null_arrays(void) {
  int rank = 0, count = 0, class = 0;
  MPI_Group group, made;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  where = "MPI_Group_translate_ranks";
  MPI_Error_class(MPI_Group_translate_ranks(group, 1, &rank, group, NULL), &class);
  CHECK(class == MPI_ERR_ARG);
  CHECK(MPI_Group_translate_ranks(group, 0, NULL, group, NULL) == MPI_SUCCESS);
  where = "MPI_Group_incl of a communicator";
  MPI_Error_class(MPI_Group_incl((MPI_Group)MPI_COMM_WORLD, 1, &rank, &made), &class);
  CHECK(class == MPI_ERR_GROUP && made == MPI_GROUP_NULL);
  where = "MPI_Group_incl";
  MPI_Error_class(MPI_Group_incl(group, 1, NULL, &made), &class);
  CHECK(class == MPI_ERR_ARG && made == MPI_GROUP_NULL);
  where = "MPI_Waitsome";
  MPI_Error_class(MPI_Waitsome(1, &request, &count, NULL, MPI_STATUSES_IGNORE), &class);
  CHECK(class == MPI_ERR_ARG);
  CHECK(MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE) == MPI_SUCCESS && count == MPI_UNDEFINED);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Group_free(&group);
}

/* What MPI_Comm_idup has given is no communicator yet. */
static void communicator_in_the_making(void) {
  MPI_Comm made;
  MPI_Request request;
  int class = -1, token = 0;
  where = "a communicator in the making";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank_of_world != 0) MPI_Recv(&token, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  if (rank_of_world == 0 && size_of_world > 1) {
    MPI_Error_class(MPI_Send(&token, 1, MPI_INT, 0, kTag, made), &class);
    CHECK(class == MPI_ERR_COMM);
    MPI_Error_class(MPI_Barrier(made), &class);
    CHECK(class == MPI_ERR_COMM);
    for (int other = 1; other < size_of_world; ++other) MPI_Send(&token, 1, MPI_INT, other, kTag, MPI_COMM_WORLD);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(MPI_Barrier(made) == MPI_SUCCESS);
  MPI_Comm_free(&made);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int queries, frees;
static int query(void* extra, MPI_Status* status) {
  (void)extra;
  (void)status;
  ++queries;
  return MPI_SUCCESS;
}
static int end(void* extra) {
  (void)extra;
  ++frees;
  return MPI_SUCCESS;
}
static int cancel(void* extra, int complete) {
  (void)extra;
  (void)complete;
  return MPI_SUCCESS;
}

/* Nobody asks after one that is freed: before its end, or after that. */
static void freed_generalized_requests(void) {
  where = "MPI_Request_free of a generalised request";
  for (int completed_first = 0; completed_first < 2; ++completed_first) {
    MPI_Request request, freed;
    queries = frees = 0;
    MPI_Grequest_start(query, end, cancel, NULL, &request);
    freed = request;
    if (completed_first) MPI_Grequest_complete(request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    if (!completed_first) MPI_Grequest_complete(freed);
    CHECK(queries == 0 && frees == 1);
  }
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  start_checks(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_create_errhandler(note, &handler);
  MPI_Comm_set_errhandler(own, handler);
  MPI_Errhandler_free(&handler);
  functions_of_one();
  functions_of_many();
  a_look();
  blocking();
  wrong_uses();
  freed_communicator();
  null_handles();
  null_arrays();
  communicator_in_the_making();
  freed_generalized_requests();
  MPI_Comm_free(&own);
  return end_checks("errors");
}
