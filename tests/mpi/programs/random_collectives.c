/* Collectives of all kinds, blocking and not, of many sizes, several under way at once on several communicators, in the
   same order at all ranks; waited for in different ways, with messages between them. Each result is checked.
   random_collectives [ROUNDS [SEED [WORDS]]] */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kAtOnceMax = 12, kComms = 4, kUntouched = 0x6e6e6e6e };

typedef enum {
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kReduce,
  kAllreduce,
  kAllreduceInPlace,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kBarrier,
  kKinds
} Kind;

/* One collective, and its memory at this rank. */
typedef struct {
  uint64_t key;
  Kind kind;
  MPI_Comm comm;
  int size, rank, root, words, nonblocking;
  int *sent, *received;
  int *counts_sent, *counts_received, *places; /* of v-collectives; blocks lie `words` apart */
} Collective;

static uint64_t seed = 1;
static int words_max = 6000;
static MPI_Comm comms[kComms];

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* What a member sends at a place: small enough to be added up. */
static int value(const Collective* c, int member, int place) {
  return (int)(mix(c->key ^ (uint64_t)member << 40 ^ (uint64_t)place) & 0xffffff);
}

/* Words from one member to another where each sends as many as it likes; what does not depend on the second one has 0.
 */
static int count(const Collective* c, int from, int to) {
  return (int)(mix(c->key ^ 0x55 ^ (uint64_t)from << 20 ^ (uint64_t)to << 8) % ((uint64_t)c->words + 1));
}

static void make(Collective* c, uint64_t key) {
  const int limits[] = {4, 40, 40, 400, 3000, words_max};
  *c = (Collective){.key = key,
                    .kind = (Kind)(key % kKinds),
                    .comm = comms[(key >> 8) % kComms],
                    .words = (int)((mix(key) >> 8) % (uint64_t)limits[mix(key) % 6]),
                    .nonblocking = (key >> 24) % 3 != 0};
  MPI_Comm_size(c->comm, &c->size);
  MPI_Comm_rank(c->comm, &c->rank);
  c->root = (int)((key >> 16) % (uint64_t)c->size);
  const int all = c->size * c->words;
  const int sender = c->kind == kScatter || c->kind == kScatterv || c->kind == kBcast ? c->root : c->rank;
  c->sent = allocate((size_t)all * sizeof(int));
  c->received = allocate((size_t)all * sizeof(int));
  for (int i = 0; i < all; ++i) c->sent[i] = value(c, sender, i);
  for (int i = 0; i < all; ++i) c->received[i] = kUntouched;
  c->counts_sent = allocate((size_t)c->size * sizeof(int));
  c->counts_received = allocate((size_t)c->size * sizeof(int));
  c->places = allocate((size_t)c->size * sizeof(int));
  for (int i = 0; i < c->size; ++i) {
    c->counts_sent[i] = count(c, c->rank, i);
    c->counts_received[i] = c->kind == kAlltoallv ? count(c, i, c->rank) : count(c, i, 0);
    c->places[i] = i * c->words;
  }
  if (c->kind == kAllreduceInPlace || (c->kind == kBcast && c->rank == c->root))
    memcpy(c->received, c->sent, (size_t)c->words * sizeof(int));
}

/* `name` and `iname`: the function that waits, and the one that gives a request. */
#define CALL(name, iname, ...) (c->nonblocking ? iname(__VA_ARGS__, request) : name(__VA_ARGS__))

static void start_blocks(Collective* c, MPI_Request* request) {
  const int n = c->words, own = c->counts_received[c->rank];
  int *s = c->sent, *r = c->received, *counts = c->counts_received;
  if (c->kind == kBcast) CALL(MPI_Bcast, MPI_Ibcast, r, n, MPI_INT, c->root, c->comm);
  if (c->kind == kGather) CALL(MPI_Gather, MPI_Igather, s, n, MPI_INT, r, n, MPI_INT, c->root, c->comm);
  if (c->kind == kScatter) CALL(MPI_Scatter, MPI_Iscatter, s, n, MPI_INT, r, n, MPI_INT, c->root, c->comm);
  if (c->kind == kAllgather) CALL(MPI_Allgather, MPI_Iallgather, s, n, MPI_INT, r, n, MPI_INT, c->comm);
  if (c->kind == kAlltoall) CALL(MPI_Alltoall, MPI_Ialltoall, s, n, MPI_INT, r, n, MPI_INT, c->comm);
  if (c->kind == kGatherv)
    CALL(MPI_Gatherv, MPI_Igatherv, s, own, MPI_INT, r, counts, c->places, MPI_INT, c->root, c->comm);
  if (c->kind == kScatterv)
    CALL(MPI_Scatterv, MPI_Iscatterv, s, counts, c->places, MPI_INT, r, own, MPI_INT, c->root, c->comm);
  if (c->kind == kAllgatherv)
    CALL(MPI_Allgatherv, MPI_Iallgatherv, s, own, MPI_INT, r, counts, c->places, MPI_INT, c->comm);
  if (c->kind == kAlltoallv)
    CALL(MPI_Alltoallv, MPI_Ialltoallv, s, c->counts_sent, c->places, MPI_INT, r, counts, c->places, MPI_INT, c->comm);
}

static void start(Collective* c, MPI_Request* request) {
  const int n = c->words;
  int *s = c->sent, *r = c->received;
  *request = MPI_REQUEST_NULL;
  start_blocks(c, request);
  if (c->kind == kReduce) CALL(MPI_Reduce, MPI_Ireduce, s, r, n, MPI_INT, MPI_MAX, c->root, c->comm);
  if (c->kind == kAllreduce) CALL(MPI_Allreduce, MPI_Iallreduce, s, r, n, MPI_INT, MPI_SUM, c->comm);
  if (c->kind == kAllreduceInPlace) CALL(MPI_Allreduce, MPI_Iallreduce, MPI_IN_PLACE, r, n, MPI_INT, MPI_SUM, c->comm);
  if (c->kind == kReduceScatterBlock)
    CALL(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, s, r, n, MPI_INT, MPI_SUM, c->comm);
  if (c->kind == kScan) CALL(MPI_Scan, MPI_Iscan, s, r, n, MPI_INT, MPI_SUM, c->comm);
  if (c->kind == kExscan) CALL(MPI_Exscan, MPI_Iexscan, s, r, n, MPI_INT, MPI_SUM, c->comm);
  if (c->kind == kBarrier) CALL(MPI_Barrier, MPI_Ibarrier, c->comm);
}

/* Of members `first` up to `end`, at a place. */
static int sum(const Collective* c, int first, int end, int place) {
  int all = 0;
  for (int i = first; i < end; ++i) all += value(c, i, place);
  return all;
}

static int largest(const Collective* c, int place) {
  int found = value(c, 0, place);
  for (int i = 1; i < c->size; ++i) found = value(c, i, place) > found ? value(c, i, place) : found;
  return found;
}

/* Word `i` of block `block` of the result; what no collective has written stays as it was. */
static int expected(const Collective* c, int block, int i) {
  const int from_member = value(c, block, i), own_place = c->rank * c->words + i;
  const int is_root = c->rank == c->root, is_first = block == 0, is_there = i < c->counts_received[block];
  switch (c->kind) {
    case kBcast:
      return is_first ? value(c, c->root, i) : kUntouched;
    case kGather:
      return is_root ? from_member : kUntouched;
    case kGatherv:
      return is_root && is_there ? from_member : kUntouched;
    case kScatter:
      return is_first ? value(c, c->root, own_place) : kUntouched;
    case kScatterv:
      return is_first && i < c->counts_received[c->rank] ? value(c, c->root, own_place) : kUntouched;
    case kAllgather:
      return from_member;
    case kAllgatherv:
      return is_there ? from_member : kUntouched;
    case kAlltoall:
      return value(c, block, own_place);
    case kAlltoallv:
      return is_there ? value(c, block, own_place) : kUntouched;
    case kReduce:
      return is_root && is_first ? largest(c, i) : kUntouched;
    case kAllreduce:
    case kAllreduceInPlace:
      return is_first ? sum(c, 0, c->size, i) : kUntouched;
    case kReduceScatterBlock:
      return is_first ? sum(c, 0, c->size, own_place) : kUntouched;
    case kScan:
      return is_first ? sum(c, 0, c->rank + 1, i) : kUntouched;
    case kExscan:
      return is_first && c->rank > 0 ? sum(c, 0, c->rank, i) : kUntouched;
    default:
      return kUntouched;
  }
}

static void check_and_free(Collective* c, int round, int number) {
  for (int block = 0; block < c->size; ++block)
    for (int i = 0; i < c->words; ++i)
      REQUIRE(c->received[block * c->words + i] == expected(c, block, i),
              "seed %d, round %d, collective %d (kind %d, %d words): block %d, word %d", (int)seed, round, number,
              (int)c->kind, c->words, block, i);
  free(c->places);
  free(c->counts_received);
  free(c->counts_sent);
  free(c->received);
  free(c->sent);
}

/* A message to the next rank, and one from the one before, which need not be looked at before the round ends. */
static int start_messages(int* words, int count, int tag, MPI_Request* requests) {
  const int next = (rank_of_world + 1) % size_of_world, before = (rank_of_world + size_of_world - 1) % size_of_world;
  for (int i = 0; i < count; ++i) words[i] = made_up(rank_of_world, tag, i);
  MPI_Isend(words, count, MPI_INT, next, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(words + count, count, MPI_INT, before, tag, MPI_COMM_WORLD, &requests[1]);
  return 2;
}

static void wait_for_all(int way, int count, MPI_Request* requests) {
  int index = 0;
  if (way == 0) MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  if (way == 1)
    while (index != MPI_UNDEFINED) MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
  if (way == 2)
    while (count-- > 0) MPI_Wait(&requests[count], MPI_STATUS_IGNORE);
}

static void play(int round) {
  const uint64_t alike = mix(seed * 7919 + (uint64_t)round), own = mix(alike ^ (uint64_t)rank_of_world * 99991);
  const int count = 1 + (int)(alike % kAtOnceMax);
  Collective all[kAtOnceMax];
  MPI_Request requests[kAtOnceMax], messages[2 * kAtOnceMax];
  int* words[kAtOnceMax];
  int sizes[kAtOnceMax], flag, started = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t key = mix(alike + (uint64_t)i * 31);
    make(&all[i], key);
    start(&all[i], &requests[i]);
    if (i > 0 && mix(own + (uint64_t)i) % 4 == 0) MPI_Test(&requests[own % (uint64_t)i], &flag, MPI_STATUS_IGNORE);
    sizes[i] = (key >> 32) % 4 == 0 ? (int)((key >> 40) % 2000) : 0;
    words[i] = allocate(2 * (size_t)sizes[i] * sizeof(int));
    if (sizes[i] > 0) started += start_messages(words[i], sizes[i], i, &messages[started]);
  }
  wait_for_all((int)(own % 3), count, requests);
  MPI_Waitall(started, messages, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) {
    check_and_free(&all[i], round, i);
    for (int word = 0; word < sizes[i]; ++word)
      REQUIRE(words[i][sizes[i] + word] == made_up((rank_of_world + size_of_world - 1) % size_of_world, i, word),
              "seed %d, round %d, message %d: word %d", (int)seed, round, i, word);
    free(words[i]);
  }
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 40;
  if (argc > 2) seed = (uint64_t)atoi(argv[2]);
  if (argc > 3) words_max = atoi(argv[3]);
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_of_world, &comms[2]);
  MPI_Comm_split(MPI_COMM_WORLD, rank_of_world % 2, rank_of_world, &comms[3]);
  for (int round = 0; round < rounds; ++round) play(round);
  for (int i = 1; i < kComms; ++i) MPI_Comm_free(&comms[i]);
  return end_checks("random_collectives");
}
