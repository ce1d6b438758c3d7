/* Inter-communicators: how they are made, divided and merged; messages of every kind over them; and their collectives,
   also many at once. */
#include "check.h"

#include <string.h>

enum { kRepeats = 20, kMany = 5 };

static MPI_Comm local, inter;
static int side, local_rank, local_size, remote_size;

/* The rank in MPI_COMM_WORLD of a rank of a side: even ones are on side 0. */
static int world_rank(int of_side, int rank) {
  return 2 * rank + of_side;
}

static int sum_of_side(int of_side) {
  int sum = 0;
  for (int rank = of_side; rank < size_of_world; rank += 2) sum += rank + 1;
  return sum;
}

/* MPI_ROOT and its like, where `root` of side `of_side` is the root. */
static int root_word(int of_side, int root) {
  if (side != of_side) return root;
  return local_rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void make(void) {
  const int leader = local_size - 1; /* not the first */
  const int other = world_rank(1 - side, remote_size - 1);
  MPI_Intercomm_create(local, leader, MPI_COMM_WORLD, other, 7, &inter);
}

static void shape(MPI_Comm comm) {
  int flag = 0, value = -1;
  MPI_Group group, all, mine;
  MPI_Comm_test_inter(comm, &flag);
  REQUIRE(flag, "it is one");
  MPI_Comm_test_inter(local, &flag);
  REQUIRE(!flag, "that is none");
  MPI_Comm_rank(comm, &value);
  REQUIRE(value == local_rank, "rank %d", value);
  MPI_Comm_size(comm, &value);
  REQUIRE(value == local_size, "size %d", value);
  MPI_Comm_remote_size(comm, &value);
  REQUIRE(value == remote_size, "remote size %d", value);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_remote_group(comm, &group);
  for (int rank = 0; rank < remote_size; ++rank) {
    MPI_Group_translate_ranks(group, 1, &rank, all, &value);
    REQUIRE(value == world_rank(1 - side, rank), "remote rank %d is %d", rank, value);
  }
  MPI_Comm_group(comm, &mine);
  MPI_Group_translate_ranks(mine, 1, &local_rank, all, &value);
  REQUIRE(value == rank_of_world, "own place %d", value);
  MPI_Group_free(&mine);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
}

/* Everyone to everyone on the other side, received from anyone; the values name the sender. */
static void messages_of_all(MPI_Comm comm, int tag) {
  MPI_Request sends[256];
  int seen[256] = {0};
  for (int to = 0; to < remote_size; ++to) MPI_Isend(&rank_of_world, 1, MPI_INT, to, tag, comm, &sends[to]);
  for (int i = 0; i < remote_size; ++i) {
    int value = -1;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, &status);
    REQUIRE(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < remote_size, "source %d", status.MPI_SOURCE);
    REQUIRE(value == world_rank(1 - side, status.MPI_SOURCE), "%d from %d", value, status.MPI_SOURCE);
    REQUIRE(status.MPI_TAG == tag && !seen[status.MPI_SOURCE]++, "tag %d", status.MPI_TAG);
  }
  MPI_Waitall(remote_size, sends, MPI_STATUSES_IGNORE);
}

/* One way: from each of side 0 to its like on side 1, if there is one. */
static void modes(MPI_Comm comm) {
  const int partner = local_rank < remote_size ? local_rank : MPI_PROC_NULL;
  char room[256 + MPI_BSEND_OVERHEAD];
  int value = 17, received = 0, flag = 0;
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  if (side == 0) {
    MPI_Send(&value, 1, MPI_INT, partner, 1, comm);
    MPI_Ssend(&value, 1, MPI_INT, partner, 2, comm);
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(&value, 1, MPI_INT, partner, 3, comm);
    int size;
    void* place;
    MPI_Buffer_detach(&place, &size);
    MPI_Issend(&value, 1, MPI_INT, partner, 4, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send_init(&value, 1, MPI_INT, partner, 5, comm, &request);
    for (int i = 0; i < 3; ++i) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  } else if (partner != MPI_PROC_NULL) {
    MPI_Recv(&received, 1, MPI_INT, partner, 1, comm, &status);
    REQUIRE(received == 17 && status.MPI_SOURCE == partner, "%d from %d", received, status.MPI_SOURCE);
    MPI_Probe(MPI_ANY_SOURCE, 2, comm, &status);
    REQUIRE(status.MPI_SOURCE == partner, "probed %d", status.MPI_SOURCE);
    MPI_Recv(&received, 1, MPI_INT, status.MPI_SOURCE, 2, comm, MPI_STATUS_IGNORE);
    while (!flag) MPI_Iprobe(partner, MPI_ANY_TAG, comm, &flag, &status);
    REQUIRE(status.MPI_SOURCE == partner && status.MPI_TAG == 3, "found %d", status.MPI_SOURCE);
    MPI_Mprobe(MPI_ANY_SOURCE, 3, comm, &message, &status);
    REQUIRE(status.MPI_SOURCE == partner, "matched %d", status.MPI_SOURCE);
    MPI_Imrecv(&received, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    REQUIRE(status.MPI_SOURCE == partner, "taken %d", status.MPI_SOURCE);
    MPI_Mprobe(partner, 4, comm, &message, &status);
    MPI_Mrecv(&received, 1, MPI_INT, &message, &status);
    REQUIRE(status.MPI_SOURCE == partner, "taken %d", status.MPI_SOURCE);
    for (int i = 0; i < 3; ++i) {
      MPI_Irecv(&received, 1, MPI_INT, partner, 5, comm, &request);
      MPI_Wait(&request, &status);
      REQUIRE(status.MPI_SOURCE == partner, "received %d", status.MPI_SOURCE);
    }
  }
  MPI_Sendrecv(&value, 1, MPI_INT, partner, 6, &received, 1, MPI_INT, partner, 6, comm, &status);
  REQUIRE(status.MPI_SOURCE == partner, "from %d", status.MPI_SOURCE);
  REQUIRE(partner == MPI_PROC_NULL || received == 17, "%d", received);
}

static int copy_value(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

/* Messages of one are not received over another. */
static void duplicates(void) {
  MPI_Comm copies[3];
  MPI_Request request;
  int keyval, result, flag;
  void* value = NULL;
  MPI_Comm_create_keyval(copy_value, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
  MPI_Comm_set_attr(inter, keyval, &side);
  MPI_Comm_dup(inter, &copies[0]);
  MPI_Comm_idup(copies[0], &copies[1], &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_dup(copies[1], &copies[2]);
  for (int i = 0; i < 3; ++i) {
    shape(copies[i]);
    MPI_Comm_compare(inter, copies[i], &result);
    REQUIRE(result == MPI_CONGRUENT, "copy %d: %d", i, result);
    MPI_Comm_compare(copies[i], local, &result);
    REQUIRE(result == MPI_UNEQUAL, "copy %d beside its group: %d", i, result);
    MPI_Comm_get_attr(copies[i], keyval, &value, &flag);
    REQUIRE(flag && value == &side, "attribute of copy %d", i);
  }
  for (int i = 0; i < 3; ++i) {
    const int to = local_rank % remote_size;
    MPI_Send(&i, 1, MPI_INT, to, 0, copies[i]);
  }
  for (int i = 2; i >= 0; --i) {
    for (int from = 0; from < remote_size; ++from) {
      int received = -1;
      if (from % local_size != local_rank) continue;
      MPI_Recv(&received, 1, MPI_INT, from, 0, copies[i], MPI_STATUS_IGNORE);
      REQUIRE(received == i, "%d over copy %d", received, i);
    }
    MPI_Comm_free(&copies[i]);
  }
  MPI_Comm_delete_attr(inter, keyval);
  MPI_Comm_free_keyval(&keyval);
}

/* Begun one after the other, with a barrier between; whoever ends first. */
static void duplicates_at_once(void) {
  MPI_Comm copies[kMany];
  MPI_Request requests[2 * kMany];
  for (int i = 0; i < kMany; ++i) {
    MPI_Comm_idup(inter, &copies[i], &requests[2 * i]);
    const int looks = (i + rank_of_world) % 3 == 0 ? 100 : 0; /* one is further than another */
    for (int look = 0, flag; look < looks; ++look) MPI_Test(&requests[2 * i], &flag, MPI_STATUS_IGNORE);
    MPI_Ibarrier(inter, &requests[2 * i + 1]);
  }
  MPI_Waitall(2 * kMany, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMany; ++i) {
    messages_of_all(copies[i], i);
    MPI_Comm_free(&copies[i]);
  }
}

static void merged(void) {
  for (int high = 0; high < 2; ++high) { /* the side that comes last */
    MPI_Comm both;
    int rank, size, flag, sum = 0, mine = rank_of_world + 1;
    MPI_Intercomm_merge(inter, side == high, &both);
    MPI_Comm_test_inter(both, &flag);
    MPI_Comm_rank(both, &rank);
    MPI_Comm_size(both, &size);
    REQUIRE(!flag && size == size_of_world, "size %d", size);
    REQUIRE(rank == local_rank + (side == high ? remote_size : 0), "rank %d", rank);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, both);
    REQUIRE(sum == size_of_world * (size_of_world + 1) / 2, "sum %d", sum);
    MPI_Comm_free(&both);
  }
}

/* Local ranks 0, 2, ... of both sides in reverse, and 1, 3, ...; a color that one side alone has gives none. */
static void divided(void) {
  const int color = local_rank % 2, limit = local_size < remote_size ? local_size : remote_size;
  const int is_there = color < limit;
  const int ours = (local_size - color + 1) / 2, theirs = (remote_size - color + 1) / 2;
  MPI_Comm part;
  MPI_Group group, chosen;
  int rank, size, value;
  MPI_Comm_split(inter, color, -local_rank, &part);
  REQUIRE((part != MPI_COMM_NULL) == is_there, "color %d", color);
  if (is_there) {
    MPI_Comm_rank(part, &rank);
    MPI_Comm_size(part, &size);
    REQUIRE(size == ours && rank == ours - 1 - local_rank / 2, "rank %d of %d", rank, size);
    MPI_Comm_remote_size(part, &size);
    REQUIRE(size == theirs, "remote size %d", size);
    for (int to = 0; to < theirs; ++to) MPI_Send(&rank_of_world, 1, MPI_INT, to, 9, part);
    for (int from = 0; from < theirs; ++from) {
      MPI_Recv(&value, 1, MPI_INT, from, 9, part, MPI_STATUS_IGNORE);
      REQUIRE(value == world_rank(1 - side, color + 2 * (theirs - 1 - from)), "%d from %d", value, from);
    }
    MPI_Comm_free(&part);
  }
  /* The first of each. */
  const int first = 0;
  MPI_Comm_group(inter, &group);
  MPI_Group_incl(group, 1, &first, &chosen);
  MPI_Comm_create(inter, chosen, &part);
  REQUIRE((part != MPI_COMM_NULL) == (local_rank == 0), "created");
  if (part != MPI_COMM_NULL) {
    MPI_Sendrecv(&side, 1, MPI_INT, 0, 0, &value, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE);
    REQUIRE(value == 1 - side, "%d", value);
    MPI_Comm_free(&part);
  }
  MPI_Group_free(&chosen);
  MPI_Group_free(&group);
}

/* x -> a x + b, one after the other: the order counts. */
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  unsigned *first = in, *second = inout;
  for (int i = 0; i < *count; ++i) {
    const unsigned a = first[2 * i], b = first[2 * i + 1];
    second[2 * i + 1] += second[2 * i] * b;
    second[2 * i] *= a;
  }
}

static void composed(const unsigned* expected, const unsigned* got) {
  REQUIRE(got[0] == expected[0] && got[1] == expected[1], "%u %u, not %u %u", got[0], got[1], expected[0], expected[1]);
}

static void reductions(void) {
  MPI_Op op;
  MPI_Datatype pair;
  const int mine = rank_of_world + 1;
  MPI_Op_create(compose, 0, &op);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
  MPI_Type_commit(&pair);
  unsigned map[2] = {2u * (unsigned)rank_of_world + 3, (unsigned)rank_of_world + 5}, result[2] = {0, 0};
  unsigned expected[2] = {1, 0};
  for (int rank = 0; rank < remote_size; ++rank) {
    const unsigned of = (unsigned)world_rank(1 - side, rank);
    unsigned next[2] = {2 * of + 3, of + 5};
    int one = 1;
    compose(expected, next, &one, &pair);
    memcpy(expected, next, sizeof next);
  }
  for (int of_side = 0; of_side < 2; ++of_side) {
    for (int root = 0; root < (of_side == side ? local_size : remote_size); ++root) {
      int sum = -1;
      MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root_word(of_side, root), inter);
      const int is_root = side == of_side && local_rank == root;
      REQUIRE(sum == (is_root ? sum_of_side(1 - side) : -1), "sum %d", sum);
      MPI_Reduce(map, result, 1, pair, op, root_word(of_side, root), inter);
      if (is_root) composed(expected, result);
    }
  }
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  REQUIRE(sum == sum_of_side(1 - side), "sum %d", sum);
  memset(result, 0, sizeof result);
  MPI_Allreduce(map, result, 1, pair, op, inter);
  composed(expected, result);
  /* As many on both sides: each process of a side gets as many as the other side has processes. */
  const int all = local_size * remote_size;
  int* values = allocate((size_t)all * sizeof(int));
  int* part = allocate((size_t)all * sizeof(int));
  int counts[256];
  for (int i = 0; i < all; ++i) values[i] = mine * (i + 1);
  MPI_Reduce_scatter_block(values, part, remote_size, MPI_INT, MPI_SUM, inter);
  for (int i = 0; i < remote_size; ++i)
    REQUIRE(part[i] == sum_of_side(1 - side) * (local_rank * remote_size + i + 1), "%d at %d", part[i], i);
  for (int i = 0; i < local_size; ++i) counts[i] = i == 0 ? all : 0;
  MPI_Reduce_scatter(values, part, counts, MPI_INT, MPI_SUM, inter);
  for (int i = 0; i < counts[local_rank]; ++i)
    REQUIRE(part[i] == sum_of_side(1 - side) * (i + 1), "%d at %d", part[i], i);
  free(values);
  free(part);
  MPI_Type_free(&pair);
  MPI_Op_free(&op);
}

static void from_a_root(int of_side, int root) {
  const int word = root_word(of_side, root), is_root = word == MPI_ROOT, takes = side != of_side;
  const int others = remote_size;
  int grid[3][4], counts[256], places[256];
  int* all = allocate(4 * (size_t)others * sizeof(int));
  MPI_Datatype column;
  MPI_Type_vector(3, 1, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int i = 0; i < 12; ++i) grid[i / 4][i % 4] = is_root ? 100 * root + i : -1;
  MPI_Bcast(&grid[0][1], 1, column, word, inter);
  for (int i = 0; i < 12 && takes; ++i)
    REQUIRE(grid[i / 4][i % 4] == (i % 4 == 1 ? 100 * root + i : -1), "%d at %d", grid[i / 4][i % 4], i);
  for (int i = 0; i < others; ++i) {
    all[2 * i] = i;
    all[2 * i + 1] = root;
    counts[i] = 1 + i % 2;
    places[i] = 2 * (others - 1 - i);
  }
  int mine[2] = {-1, -1};
  MPI_Scatter(all, 2, MPI_INT, mine, 2, MPI_INT, word, inter);
  if (takes) REQUIRE(mine[0] == local_rank && mine[1] == root, "%d %d", mine[0], mine[1]);
  MPI_Scatterv(all, counts, places, MPI_INT, mine, 1 + local_rank % 2, MPI_INT, word, inter);
  if (takes) REQUIRE(mine[0] == local_size - 1 - local_rank, "%d", mine[0]);
  mine[0] = rank_of_world;
  mine[1] = root;
  MPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, word, inter);
  for (int i = 0; i < others && is_root; ++i)
    REQUIRE(all[2 * i] == world_rank(1 - side, i) && all[2 * i + 1] == root, "%d of %d", all[2 * i], i);
  MPI_Gatherv(mine, 1 + local_rank % 2, MPI_INT, all, counts, places, MPI_INT, word, inter);
  for (int i = 0; i < others && is_root; ++i)
    REQUIRE(all[places[i]] == world_rank(1 - side, i), "%d of %d", all[places[i]], i);
  MPI_Type_free(&column);
  free(all);
}

static void among_all(void) {
  int* sent = allocate(2 * (size_t)remote_size * sizeof(int));
  int* got = allocate(2 * (size_t)remote_size * sizeof(int));
  int counts[256], places[256], bytes[256];
  MPI_Datatype types[256];
  for (int i = 0; i < remote_size; ++i) {
    sent[2 * i] = 100 * rank_of_world + i;
    sent[2 * i + 1] = i;
    counts[i] = 2;
    places[i] = 2 * i;
    bytes[i] = 8 * i;
    types[i] = MPI_INT;
  }
  MPI_Barrier(inter);
  MPI_Allgather(&rank_of_world, 1, MPI_INT, got, 1, MPI_INT, inter);
  for (int i = 0; i < remote_size; ++i) REQUIRE(got[i] == world_rank(1 - side, i), "%d of %d", got[i], i);
  const int pair[2] = {rank_of_world, side};
  MPI_Allgatherv(pair, 2, MPI_INT, got, counts, places, MPI_INT, inter);
  for (int i = 0; i < remote_size; ++i) REQUIRE(got[2 * i] == world_rank(1 - side, i), "%d of %d", got[2 * i], i);
  for (int kind = 0; kind < 3; ++kind) {
    memset(got, 0, 2 * (size_t)remote_size * sizeof(int));
    if (kind == 0) MPI_Alltoall(sent, 2, MPI_INT, got, 2, MPI_INT, inter);
    if (kind == 1) MPI_Alltoallv(sent, counts, places, MPI_INT, got, counts, places, MPI_INT, inter);
    if (kind == 2) MPI_Alltoallw(sent, counts, bytes, types, got, counts, bytes, types, inter);
    for (int i = 0; i < remote_size; ++i)
      REQUIRE(got[2 * i] == 100 * world_rank(1 - side, i) + local_rank && got[2 * i + 1] == local_rank,
              "kind %d: %d of %d", kind, got[2 * i], i);
  }
  free(sent);
  free(got);
}

/* Begun in one order, ended in others. */
static void many_at_once(void) {
  int sums[kMany], words[kMany], all[kMany][256], mine[kMany];
  MPI_Request requests[4 * kMany];
  int begun = 0;
  for (int i = 0; i < kMany; ++i) {
    mine[i] = (rank_of_world + 1) * (i + 1);
    words[i] = i;
    const int of_side = i % 2, word = root_word(of_side, 0);
    if (word != MPI_ROOT) words[i] = -1;
    MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, inter, &requests[begun++]);
    MPI_Ibcast(&words[i], 1, MPI_INT, word, inter, &requests[begun++]);
    MPI_Iallgather(&mine[i], 1, MPI_INT, all[i], 1, MPI_INT, inter, &requests[begun++]);
    MPI_Ibarrier(inter, &requests[begun++]);
  }
  while (begun > 0) {
    const int chosen = (rank_of_world * 7 + begun * 3) % begun;
    MPI_Wait(&requests[chosen], MPI_STATUS_IGNORE);
    requests[chosen] = requests[--begun];
  }
  for (int i = 0; i < kMany; ++i) {
    REQUIRE(sums[i] == (i + 1) * sum_of_side(1 - side), "sum %d: %d", i, sums[i]);
    REQUIRE(words[i] == (side != i % 2 || local_rank == 0 ? i : -1), "word %d: %d", i, words[i]);
    for (int k = 0; k < remote_size; ++k)
      REQUIRE(all[i][k] == (world_rank(1 - side, k) + 1) * (i + 1), "%d of %d", all[i][k], k);
  }
}

static void class_is(int error, int expected, const char* what) {
  int found = MPI_SUCCESS;
  MPI_Error_class(error, &found);
  REQUIRE(found == expected, "%s: class %d, not %d", what, found, expected);
}

static void wrong(void) {
  MPI_Comm made;
  const int dims[1] = {1}, periods[1] = {0};
  int value = 0, result = 0;
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* Open MPI's of a wrong communicator */
  class_is(MPI_Send(&value, 1, MPI_INT, remote_size, 0, inter), MPI_ERR_RANK, "a rank that is not there");
  class_is(MPI_Scan(&value, &result, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM, "a scan");
  class_is(MPI_Cart_create(inter, 1, dims, periods, 0, &made), MPI_ERR_COMM, "a grid");
  class_is(MPI_Bcast(&value, 1, MPI_INT, remote_size, inter), MPI_ERR_ROOT, "a root that is not there");
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  class_is(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_NULL, 0, 0, &made), MPI_ERR_COMM, "no bridge");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(local, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  side = rank_of_world % 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, rank_of_world, &local);
  MPI_Comm_rank(local, &local_rank);
  MPI_Comm_size(local, &local_size);
  remote_size = size_of_world - local_size;
  for (int round = 0; round < kRepeats; ++round) {
    make();
    shape(inter);
    messages_of_all(inter, 100 + round);
    modes(inter);
    duplicates();
    duplicates_at_once();
    merged();
    divided();
    reductions();
    for (int root = 0; root < local_size || root < remote_size; ++root)
      for (int of_side = 0; of_side < 2; ++of_side)
        if (root < (of_side == side ? local_size : remote_size)) from_a_root(of_side, root);
    among_all();
    many_at_once();
    wrong();
    if (round % 2 == 0)
      MPI_Comm_free(&inter);
    else
      MPI_Comm_disconnect(&inter);
    REQUIRE(inter == MPI_COMM_NULL, "it is gone");
  }
  MPI_Comm_free(&local);
  return end_checks("intercomm");
}
