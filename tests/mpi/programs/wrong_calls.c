/* Calls as a program should not make them, each with the error class that it must get, and without a hang. All are of
 * this process alone, so that what has been refused leaves nothing behind.
 * "wrong_calls NAME" makes one of them with MPI_ERRORS_ARE_FATAL, for the test of texts. */
#include <limits.h>
#include <string.h>

#include "check.h"

static MPI_Comm comm; /* a duplicate of MPI_COMM_WORLD */
static int value, result;
static int values[8], results[8];

static int size_of(MPI_Comm of) {
  int size;
  MPI_Comm_size(of, &size);
  return size;
}

static MPI_Datatype uncommitted(void) {
  static MPI_Datatype type = MPI_DATATYPE_NULL;
  if (type == MPI_DATATYPE_NULL) MPI_Type_contiguous(2, MPI_INT, &type);
  return type;
}

static MPI_Datatype freed_datatype(void) {
  MPI_Datatype type, kept;
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_commit(&type);
  kept = type;
  MPI_Type_free(&type);
  return kept;
}

static MPI_Comm freed_comm(void) {
  MPI_Comm other, kept;
  MPI_Comm_dup(MPI_COMM_SELF, &other);
  kept = other;
  MPI_Comm_free(&other);
  return kept;
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static MPI_Op freed_op(void) {
  MPI_Op op, kept;
  MPI_Op_create(add, 1, &op);
  kept = op;
  MPI_Op_free(&op);
  return kept;
}

static MPI_Group freed_group(void) {
  MPI_Group group, kept;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_incl(group, 1, &(int){0}, &kept);
  MPI_Group_free(&group);
  group = kept;
  MPI_Group_free(&group);
  return kept;
}

static MPI_Request persistent(void) {
  MPI_Request request;
  MPI_Recv_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  return request;
}

/* Messages */
static int send_to_behind_last(void) {
  return MPI_Send(&value, 1, MPI_INT, size_of(comm), 0, comm);
}
static int send_below_first(void) {
  return MPI_Send(&value, 1, MPI_INT, -7, 0, comm);
}
static int send_to_any(void) {
  return MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm);
}
static int send_tag(void) {
  return MPI_Send(&value, 1, MPI_INT, 0, -3, comm);
}
static int send_any_tag(void) {
  return MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, comm);
}
static int send_count(void) {
  return MPI_Send(&value, -1, MPI_INT, 0, 0, comm);
}
static int send_null_buffer(void) {
  return MPI_Send(NULL, 4, MPI_INT, 0, 0, comm);
}
static int send_in_place(void) {
  return MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, comm);
}
static int send_no_type(void) {
  return MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, comm);
}
static int send_uncommitted(void) {
  return MPI_Send(values, 1, uncommitted(), 0, 0, comm);
}
static int send_freed_type(void) {
  return MPI_Send(values, 1, freed_datatype(), 0, 0, comm);
}
static int send_no_comm(void) {
  return MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL);
}
static int send_freed_comm(void) {
  return MPI_Send(&value, 1, MPI_INT, 0, 0, freed_comm());
}
static int isend_rank(void) {
  MPI_Request request;
  return MPI_Isend(&value, 1, MPI_INT, 4711, 0, comm, &request);
}
static int isend_no_request(void) {
  return MPI_Isend(&value, 1, MPI_INT, 0, 0, comm, NULL);
}
static int recv_rank(void) {
  return MPI_Recv(&value, 1, MPI_INT, size_of(comm), 0, comm, MPI_STATUS_IGNORE);
}
static int recv_tag(void) {
  return MPI_Recv(&value, 1, MPI_INT, 0, -4, comm, MPI_STATUS_IGNORE);
}
static int recv_count(void) {
  return MPI_Recv(&value, -2, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
}
static int recv_null_buffer(void) {
  return MPI_Recv(NULL, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
}
static int recv_truncated(void) {
  MPI_Request request;
  int code;
  MPI_Isend(values, 8, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
  code = MPI_Recv(results, 2, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code;
}
static int wait_truncated(void) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int code, found;
  MPI_Irecv(results, 2, MPI_INT, 0, 6, MPI_COMM_SELF, &requests[0]);
  MPI_Isend(values, 8, MPI_INT, 0, 6, MPI_COMM_SELF, &requests[1]);
  code = MPI_Waitall(2, requests, statuses);
  MPI_Error_class(statuses[0].MPI_ERROR, &found);
  REQUIRE(found == MPI_ERR_TRUNCATE, "the status of the receive is of class %d", found);
  REQUIRE(statuses[1].MPI_ERROR == MPI_SUCCESS, "the send has code %d", statuses[1].MPI_ERROR);
  return code;
}
static int probe_rank(void) {
  return MPI_Probe(size_of(comm) + 1, 0, comm, MPI_STATUS_IGNORE);
}
static int sendrecv_tag(void) {
  return MPI_Sendrecv(&value, 1, MPI_INT, 0, -9, &result, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
}
static int bsend_no_buffer(void) {
  return MPI_Bsend(values, 8, MPI_INT, 0, 0, comm);
}
static int attach_twice(void) {
  static char room[4096];
  void* place;
  int size, code;
  MPI_Buffer_attach(room, sizeof room);
  code = MPI_Buffer_attach(room, sizeof room);
  MPI_Buffer_detach(&place, &size);
  return code;
}

/* Requests */
static int wait_freed(void) {
  MPI_Request request = persistent(), kept = request;
  MPI_Request_free(&request);
  return MPI_Wait(&kept, MPI_STATUS_IGNORE);
}
static int waitall_count(void) {
  return MPI_Waitall(-1, NULL, MPI_STATUSES_IGNORE);
}
static int free_no_request(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  return MPI_Request_free(&request);
}
static int start_no_request(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  return MPI_Start(&request);
}
static int start_twice(void) {
  MPI_Request request = persistent();
  int code;
  MPI_Start(&request);
  code = MPI_Start(&request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  return code;
}
static int start_plain(void) {
  MPI_Request request;
  int code;
  MPI_Irecv(&value, 1, MPI_INT, 0, 77, MPI_COMM_SELF, &request);
  code = MPI_Start(&request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return code;
}

/* Collectives */
static int bcast_root(void) {
  return MPI_Bcast(&value, 1, MPI_INT, size_of(comm), comm);
}
static int bcast_in_place(void) {
  return MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm);
}
static int bcast_null_buffer(void) {
  return MPI_Bcast(NULL, 1, MPI_INT, 0, comm);
}
static int bcast_freed_comm(void) {
  return MPI_Bcast(&value, 1, MPI_INT, 0, freed_comm());
}
static int reduce_freed_op(void) {
  return MPI_Reduce(&value, &result, 1, MPI_INT, freed_op(), 0, comm);
}
static int reduce_root(void) {
  return MPI_Reduce(&value, &result, 1, MPI_INT, MPI_SUM, -1, comm);
}
static int reduce_place_at_others(void) {
  int root = size_of(comm) - 1;
  if (rank_of_world == root) return MPI_Reduce(&value, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, root, comm);
  return MPI_Reduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_SUM, root, comm);
}
static int alltoall_aliased(void) {
  return MPI_Alltoall(values, 1, MPI_INT, values, 1, MPI_INT, comm);
}
static int allreduce_null_buffer(void) {
  return MPI_Allreduce(NULL, results, 8, MPI_INT, MPI_SUM, comm);
}
static int allreduce_type(void) {
  return MPI_Allreduce(values, results, 2, MPI_DOUBLE, MPI_LXOR, comm);
}
static int gather_in_place_at_others(void) {
  int root = (rank_of_world + 1) % size_of(comm);
  if (size_of(comm) == 1) return MPI_Gather(values, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, comm);
  return MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, results, 1, MPI_INT, root, comm);
}
static int alltoallv_count(void) {
  int counts[64], places[64];
  for (int i = 0; i < 64; ++i) counts[i] = -1, places[i] = 0;
  return MPI_Alltoallv(values, counts, places, MPI_INT, results, counts, places, MPI_INT, comm);
}
static int scan_op(void) {
  return MPI_Scan(&value, &result, 1, MPI_INT, MPI_OP_NULL, comm);
}
static int neighbours_without(void) {
  return MPI_Neighbor_allgather(&value, 1, MPI_INT, results, 1, MPI_INT, comm);
}

/* Datatypes */
static int type_count(void) {
  MPI_Datatype type;
  return MPI_Type_contiguous(-1, MPI_INT, &type);
}
static int type_block_length(void) {
  MPI_Datatype type;
  return MPI_Type_vector(2, -2, 4, MPI_INT, &type);
}
static int type_of_none(void) {
  MPI_Datatype type;
  return MPI_Type_contiguous(2, MPI_DATATYPE_NULL, &type);
}
static int type_free_predefined(void) {
  MPI_Datatype type = MPI_INT;
  return MPI_Type_free(&type);
}
static int type_subarray(void) {
  MPI_Datatype type;
  return MPI_Type_create_subarray(1, &(int){4}, &(int){3}, &(int){2}, MPI_ORDER_C, MPI_INT, &type);
}
static int pack_room(void) {
  char room[4];
  int position = 0;
  return MPI_Pack(values, 8, MPI_INT, room, sizeof room, &position, comm);
}

/* Operations, groups, communicators */
static int op_free_predefined(void) {
  MPI_Op op = MPI_SUM;
  return MPI_Op_free(&op);
}
static int group_freed(void) {
  int size;
  return MPI_Group_size(freed_group(), &size);
}
static int group_rank(void) {
  MPI_Group all, some;
  int code;
  MPI_Comm_group(comm, &all);
  code = MPI_Group_incl(all, 1, &(int){4711}, &some);
  MPI_Group_free(&all);
  return code;
}
static int group_rank_twice(void) {
  MPI_Group all, some;
  int code, ranks[2] = {0, 0};
  MPI_Comm_group(comm, &all);
  code = MPI_Group_incl(all, 2, ranks, &some);
  MPI_Group_free(&all);
  return code;
}
static int comm_size_place(void) {
  return MPI_Comm_size(comm, NULL);
}
static int comm_free_world(void) {
  MPI_Comm world = MPI_COMM_WORLD;
  return MPI_Comm_free(&world);
}
static int comm_color(void) {
  MPI_Comm other;
  return MPI_Comm_split(comm, -5, 0, &other);
}
static int comm_no_group(void) {
  MPI_Comm other;
  return MPI_Comm_create(comm, MPI_GROUP_NULL, &other);
}

/* Topologies, attributes, the rest */
static int cart_dims(void) {
  MPI_Comm cart;
  return MPI_Cart_create(comm, 2, (int[]){4711, 3}, (int[]){0, 0}, 0, &cart);
}
static int cart_negative(void) {
  MPI_Comm cart;
  return MPI_Cart_create(comm, 1, &(int){-1}, &(int){0}, 0, &cart);
}
static int cart_of_none(void) {
  int coords[2];
  return MPI_Cart_coords(comm, 0, 2, coords);
}
static int dims_not_divisible(void) {
  return MPI_Dims_create(7, 2, (int[]){2, 0});
}
static int keyval_unknown(void) {
  void* attribute;
  int flag;
  return MPI_Comm_get_attr(comm, 4711, &attribute, &flag);
}
static int keyval_invalid(void) {
  return MPI_Comm_set_attr(comm, MPI_KEYVAL_INVALID, &value);
}
static int keyval_predefined(void) {
  return MPI_Comm_set_attr(comm, MPI_TAG_UB, &value);
}
static int info_key(void) {
  char key[MPI_MAX_INFO_KEY + 10];
  MPI_Info info;
  int code;
  memset(key, 'k', sizeof key);
  key[sizeof key - 1] = '\0';
  MPI_Info_create(&info);
  code = MPI_Info_set(info, key, "value");
  MPI_Info_free(&info);
  return code;
}
static int info_no_key(void) {
  MPI_Info info;
  int code;
  MPI_Info_create(&info);
  code = MPI_Info_delete(info, "nobody");
  MPI_Info_free(&info);
  return code;
}
static int error_code_unknown(void) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  return MPI_Error_string(INT_MAX, text, &length);
}
static int errhandler_none(void) {
  return MPI_Comm_set_errhandler(comm, MPI_ERRHANDLER_NULL);
}
static int init_twice(void) {
  return MPI_Init(NULL, NULL);
}

static const struct {
  const char* name;
  int (*call)(void);
  int class;
} cases[] = {
#define CASE(name, class) \
  { #name, name, class }
    CASE(send_to_behind_last, MPI_ERR_RANK),
    CASE(send_below_first, MPI_ERR_RANK),
    CASE(send_to_any, MPI_ERR_RANK),
    CASE(send_tag, MPI_ERR_TAG),
    CASE(send_any_tag, MPI_ERR_TAG),
    CASE(send_count, MPI_ERR_COUNT),
    CASE(send_null_buffer, MPI_ERR_BUFFER),
    CASE(send_in_place, MPI_ERR_BUFFER),
    CASE(send_no_type, MPI_ERR_TYPE),
    CASE(send_uncommitted, MPI_ERR_TYPE),
    CASE(send_freed_type, MPI_ERR_TYPE),
    CASE(send_no_comm, MPI_ERR_COMM),
    CASE(send_freed_comm, MPI_ERR_COMM),
    CASE(isend_rank, MPI_ERR_RANK),
    CASE(isend_no_request, MPI_ERR_ARG),
    CASE(recv_rank, MPI_ERR_RANK),
    CASE(recv_tag, MPI_ERR_TAG),
    CASE(recv_count, MPI_ERR_COUNT),
    CASE(recv_null_buffer, MPI_ERR_BUFFER),
    CASE(recv_truncated, MPI_ERR_TRUNCATE),
    CASE(wait_truncated, MPI_ERR_IN_STATUS),
    CASE(probe_rank, MPI_ERR_RANK),
    CASE(sendrecv_tag, MPI_ERR_TAG),
    CASE(bsend_no_buffer, MPI_ERR_BUFFER),
    CASE(attach_twice, MPI_ERR_BUFFER),
    CASE(wait_freed, MPI_ERR_REQUEST),
    CASE(waitall_count, MPI_ERR_COUNT),
    CASE(free_no_request, MPI_ERR_REQUEST),
    CASE(start_no_request, MPI_ERR_REQUEST),
    CASE(start_twice, MPI_ERR_REQUEST),
    CASE(start_plain, MPI_ERR_REQUEST),
    CASE(bcast_root, MPI_ERR_ROOT),
    CASE(bcast_in_place, MPI_ERR_BUFFER),
    CASE(bcast_null_buffer, MPI_ERR_BUFFER),
    CASE(bcast_freed_comm, MPI_ERR_COMM),
    CASE(reduce_freed_op, MPI_ERR_OP),
    CASE(reduce_root, MPI_ERR_ROOT),
    CASE(reduce_place_at_others, MPI_ERR_BUFFER),
    CASE(alltoall_aliased, MPI_ERR_BUFFER),
    CASE(allreduce_null_buffer, MPI_ERR_BUFFER),
    CASE(allreduce_type, MPI_ERR_OP),
    CASE(gather_in_place_at_others, MPI_ERR_BUFFER),
    CASE(alltoallv_count, MPI_ERR_COUNT),
    CASE(scan_op, MPI_ERR_OP),
    CASE(neighbours_without, MPI_ERR_TOPOLOGY),
    CASE(type_count, MPI_ERR_COUNT),
    CASE(type_block_length, MPI_ERR_ARG),
    CASE(type_of_none, MPI_ERR_TYPE),
    CASE(type_free_predefined, MPI_ERR_TYPE),
    CASE(type_subarray, MPI_ERR_ARG),
    CASE(pack_room, MPI_ERR_TRUNCATE),
    CASE(op_free_predefined, MPI_ERR_OP),
    CASE(group_freed, MPI_ERR_GROUP),
    CASE(group_rank, MPI_ERR_RANK),
    CASE(group_rank_twice, MPI_ERR_RANK),
    CASE(comm_size_place, MPI_ERR_ARG),
    CASE(comm_free_world, MPI_ERR_COMM),
    CASE(comm_color, MPI_ERR_ARG),
    CASE(comm_no_group, MPI_ERR_GROUP),
    CASE(cart_dims, MPI_ERR_DIMS),
    CASE(cart_negative, MPI_ERR_DIMS),
    CASE(cart_of_none, MPI_ERR_TOPOLOGY),
    CASE(dims_not_divisible, MPI_ERR_DIMS),
    CASE(keyval_unknown, MPI_ERR_KEYVAL),
    CASE(keyval_invalid, MPI_ERR_KEYVAL),
    CASE(keyval_predefined, MPI_ERR_KEYVAL),
    CASE(info_key, MPI_ERR_INFO_KEY),
    CASE(info_no_key, MPI_ERR_INFO_NOKEY),
    CASE(error_code_unknown, MPI_ERR_ARG),
    CASE(errhandler_none, MPI_ERR_ARG),
    CASE(init_twice, MPI_ERR_OTHER),
};

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : NULL;
  start_checks(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "copy of the world");
  if (wanted == NULL) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    int code, found = MPI_SUCCESS;
    if (wanted != NULL && strcmp(wanted, cases[i].name) != 0) continue;
    code = cases[i].call();
    if (code != MPI_SUCCESS) MPI_Error_class(code, &found);
    REQUIRE(found == cases[i].class, "%s: class %d, expected %d", cases[i].name, found, cases[i].class);
  }
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm); /* it still works */
  MPI_Comm_free(&comm);
  return end_checks("wrong_calls");
}
