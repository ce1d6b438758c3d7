/* Collectives of the v and w kinds whose members' parts go in different ways: those of one are short, those of another
 * long, those of a third scattered, in the same call; and counts that do not match, which their receiver is told. */
#include "check.h"

#include <string.h>

enum { LONG = 90 * 1000, MEMBERS_MAX = 64 };
static MPI_Comm comm;
static int me, members;
static MPI_Datatype every_second; /* byte of two */

/* Bytes that `from` has for `to`. */
static int tiny(int from, int to) {
  return (from * 3 + to) % 4;
}
static int none_or_word(int from, int to) {
  return (from + to) % 2 * 8;
}
static int middling(int from, int to) {
  return (from * 7 + to * 5) % 11 * 67;
}
static int one_is_long(int from, int to) {
  return from == members - 1 ? LONG / members + to : 1 + to % 3;
}
static int one_pair_is_long(int from, int to) {
  return from == 0 && to == members - 1 ? LONG : from % 2;
}
static int half_are_long(int from, int to) {
  return from % 2 == 0 ? 3000 + to : to;
}
static int all_are_long(int from, int to) {
  return LONG + from - to;
}
typedef int (*Sizes)(int from, int to);
static const Sizes patterns[] = {tiny,          none_or_word, middling, one_is_long, one_pair_is_long,
                                 half_are_long, all_are_long};

static char content(int from, int to, int place) {
  return (char)made_up(from, to, place);
}

/* Parts with a gap of 3 bytes before each, of every member; `stride`: bytes from one of its bytes to the next. */
typedef struct {
  int counts[MEMBERS_MAX];
  int displs[MEMBERS_MAX];
  MPI_Datatype types[MEMBERS_MAX];
  int stride;
  size_t bytes;
  char* memory;
} Parts;

static Parts parts_of(int stride) {
  Parts parts;
  memset(&parts, 0, sizeof parts);
  parts.stride = stride;
  return parts;
}

static void add_part(Parts* parts, int member, int count) {
  parts->counts[member] = count;
  parts->displs[member] = (int)parts->bytes + 3;
  parts->types[member] = parts->stride == 1 ? MPI_CHAR : every_second;
  parts->bytes += 3 + (size_t)count * (size_t)parts->stride;
}

static void make_parts(Parts* parts) {
  parts->memory = allocate(parts->bytes);
  memset(parts->memory, 0x55, parts->bytes);
}

static char* byte_of(const Parts* parts, int member, int place) {
  return parts->memory + parts->displs[member] + (size_t)place * (size_t)parts->stride;
}

static void put_part(const Parts* parts, int member, int from, int to) {
  for (int i = 0; i < parts->counts[member]; ++i) *byte_of(parts, member, i) = content(from, to, i);
}

static void check_part(const Parts* parts, int member, int from, int to, const char* what) {
  for (int i = 0; i < parts->counts[member]; ++i)
    REQUIRE(*byte_of(parts, member, i) == content(from, to, i), "%s: byte %d from %d to %d", what, i, from, to);
  REQUIRE(parts->memory[parts->displs[member] - 1] == 0x55, "%s: before the part of %d", what, member);
}

static void try_exchange(Sizes sizes, int stride, int of_each_type) {
  Parts sent = parts_of(stride), received = parts_of(1);
  for (int i = 0; i < members; ++i) add_part(&sent, i, sizes(me, i));
  for (int i = 0; i < members; ++i) add_part(&received, i, sizes(i, me));
  make_parts(&sent);
  make_parts(&received);
  for (int i = 0; i < members; ++i) put_part(&sent, i, me, i);
  if (of_each_type || stride > 1)
    MPI_Alltoallw(sent.memory, sent.counts, sent.displs, sent.types, received.memory, received.counts, received.displs,
                  received.types, comm);
  else
    MPI_Alltoallv(sent.memory, sent.counts, sent.displs, MPI_CHAR, received.memory, received.counts, received.displs,
                  MPI_CHAR, comm);
  memset(sent.memory, 0, sent.bytes); /* ours again */
  for (int i = 0; i < members; ++i) check_part(&received, i, i, me, "exchanged");
  free(sent.memory);
  free(received.memory);
}

static void try_gathers(Sizes sizes, int root) {
  Parts all = parts_of(1), mine = parts_of(1);
  for (int i = 0; i < members; ++i) add_part(&all, i, sizes(i, root));
  add_part(&mine, 0, sizes(me, root));
  make_parts(&all);
  make_parts(&mine);
  put_part(&mine, 0, me, root);
  MPI_Gatherv(byte_of(&mine, 0, 0), mine.counts[0], MPI_CHAR, all.memory, all.counts, all.displs, MPI_CHAR, root, comm);
  for (int i = 0; me == root && i < members; ++i) check_part(&all, i, i, root, "gathered");
  memset(all.memory, 0x55, all.bytes);
  MPI_Allgatherv(byte_of(&mine, 0, 0), mine.counts[0], MPI_CHAR, all.memory, all.counts, all.displs, MPI_CHAR, comm);
  for (int i = 0; i < members; ++i) check_part(&all, i, i, root, "gathered by all");
  memset(byte_of(&mine, 0, 0), 0, (size_t)mine.counts[0]);
  MPI_Scatterv(all.memory, all.counts, all.displs, MPI_CHAR, byte_of(&mine, 0, 0), mine.counts[0], MPI_CHAR, root,
               comm);
  memset(all.memory, 0, all.bytes); /* ours again */
  check_part(&mine, 0, me, root, "scattered");
  free(all.memory);
  free(mine.memory);
}

static int error_of_exchange(int bytes, int wanted) {
  Parts sent = parts_of(1), received = parts_of(1);
  for (int i = 0; i < members; ++i) add_part(&sent, i, bytes);
  for (int i = 0; i < members; ++i) add_part(&received, i, me == members - 1 && i == 0 ? wanted : bytes);
  make_parts(&sent);
  make_parts(&received);
  const int error = MPI_Alltoallv(sent.memory, sent.counts, sent.displs, MPI_CHAR, received.memory, received.counts,
                                  received.displs, MPI_CHAR, comm);
  free(sent.memory);
  free(received.memory);
  return error;
}

/* At the last member, which gets less from the first than it wants, or more. */
static int error_of_gather(int bytes, int wanted) {
  Parts all = parts_of(1);
  char* mine = allocate((size_t)bytes);
  for (int i = 0; i < members; ++i) add_part(&all, i, i == 0 ? wanted : bytes);
  make_parts(&all);
  const int error = MPI_Gatherv(mine, bytes, MPI_CHAR, all.memory, all.counts, all.displs, MPI_CHAR, members - 1, comm);
  free(mine);
  free(all.memory);
  return error;
}

static int error_of_scatter(int bytes, int wanted) {
  Parts all = parts_of(1);
  char* mine = allocate((size_t)(bytes + wanted));
  for (int i = 0; i < members; ++i) add_part(&all, i, bytes);
  make_parts(&all);
  const int error = MPI_Scatterv(all.memory, all.counts, all.displs, MPI_CHAR, mine, me == members - 1 ? wanted : bytes,
                                 MPI_CHAR, 0, comm);
  free(mine);
  free(all.memory);
  return error;
}

static void try_mismatch(int (*call)(int bytes, int wanted), int bytes, int wanted, const char* what) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int error = call(bytes, wanted);
  REQUIRE(me != members - 1 || error != MPI_SUCCESS, "%s: %d bytes where %d were wanted", what, bytes, wanted);
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  static const int wrong[][2] = {{4, 3}, {0, 5}, {5, 0}, {300, 301}, {LONG, 8}, {8, LONG}, {LONG, LONG + 1}};
  start_checks(&argc, &argv);
  comm = MPI_COMM_WORLD;
  me = rank_of_world;
  members = size_of_world;
  MPI_Type_create_resized(MPI_CHAR, 0, 2, &every_second);
  MPI_Type_commit(&every_second);
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; ++i) {
    try_exchange(patterns[i], 1, 0);
    try_exchange(patterns[i], 1, 1);
    try_exchange(patterns[i], 1 + me % 2, 1);
    for (int root = 0; root < members; ++root) try_gathers(patterns[i], root);
  }
  for (size_t i = 0; members > 1 && i < sizeof wrong / sizeof *wrong; ++i) {
    try_mismatch(error_of_exchange, wrong[i][0], wrong[i][1], "exchanged");
    try_mismatch(error_of_gather, wrong[i][0], wrong[i][1], "gathered");
    try_mismatch(error_of_scatter, wrong[i][0], wrong[i][1], "scattered");
  }
  MPI_Type_free(&every_second);
  return end_checks("counts");
}
