/* Messages of many sizes, contiguous and scattered, in bursts between all ranks; posted before or after they are sent,
   probed, received from one or from any. Each is checked by its status and content, and for its order.
   random_messages [ROUNDS [SEED]] */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kWordsMax = 4096, kBurstMax = 40, kTags = 5 };

static uint64_t seed = 1;

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* Of the message with that number from one rank to another: what its words count up from, and how many they are. */
static uint64_t first_word(int from, int to, uint64_t number) {
  return mix(seed ^ (uint64_t)from << 48 ^ (uint64_t)to << 32 ^ number);
}

static int words_of(uint64_t first) {
  static const int limits[] = {16, 16, 16, 140, 140, 140, 600, kWordsMax};
  return (int)(mix(first) % (uint64_t)limits[first % 8]);
}

/* What all ranks do alike in a round. */
typedef struct {
  int tag;
  int burst; /* messages from each rank to each other */
  int from_any, any_tag, scattered;
  enum { kPostedFirst, kBlocking, kProbed, kMixed } way;
} Round;

static Round round_of(uint64_t number) {
  const uint64_t bits = mix(seed << 20 ^ number);
  const Round round = {.tag = (int)(number % kTags),
                       .burst = 1 + (int)(bits % kBurstMax),
                       .from_any = (bits >> 8) % 3 == 0,
                       .any_tag = (int)((bits >> 12) % 2),
                       .scattered = (bits >> 16) % 3 == 0,
                       .way = (int)((bits >> 24) % 4)};
  return round;
}

typedef struct {
  uint64_t* words;
  MPI_Status status;
} Received;

static MPI_Request* requests;
static int started;
static uint64_t** sent_words;
static uint64_t* sent_to;       /* messages, in all rounds */
static uint64_t* received_from; /* likewise */

static void start_send(const Round* round, int to, int place) {
  const uint64_t first = first_word(rank_of_world, to, sent_to[to]++);
  const int words = words_of(first), step = round->scattered ? 2 : 1;
  uint64_t* data = sent_words[place] = allocate(((size_t)(step * words) + 1) * sizeof *data);
  for (int i = 0; i < words; ++i) data[step * i] = first + (uint64_t)i;
  if (!round->scattered) {
    MPI_Isend(data, words, MPI_UINT64_T, to, round->tag, MPI_COMM_WORLD, &requests[started++]);
    return;
  }
  MPI_Datatype type;
  MPI_Type_vector(words, 1, step, MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  MPI_Isend(data, 1, type, to, round->tag, MPI_COMM_WORLD, &requests[started++]);
  MPI_Type_free(&type);
}

static void receive(const Round* round, int from, Received* received, int probes) {
  int tag = round->any_tag ? MPI_ANY_TAG : round->tag, words = kWordsMax;
  if (probes) {
    MPI_Probe(from, tag, MPI_COMM_WORLD, &received->status);
    MPI_Get_count(&received->status, MPI_UINT64_T, &words);
    from = received->status.MPI_SOURCE;
    tag = received->status.MPI_TAG;
  }
  MPI_Recv(received->words, words, MPI_UINT64_T, from, tag, MPI_COMM_WORLD, &received->status);
}

static void check(const Round* round, const Received* received) {
  const int from = received->status.MPI_SOURCE;
  const uint64_t number = received_from[from]++, first = first_word(from, rank_of_world, number);
  int words = -1;
  MPI_Get_count(&received->status, MPI_UINT64_T, &words);
  REQUIRE(received->status.MPI_TAG == round->tag, "seed %d, from %d: tag %d", (int)seed, from,
          received->status.MPI_TAG);
  REQUIRE(words == words_of(first), "seed %d, message %d from %d: %d words", (int)seed, (int)number, from, words);
  for (int i = 0; i < words; ++i)
    REQUIRE(received->words[i] == first + (uint64_t)i, "seed %d, message %d from %d: word %d", (int)seed, (int)number,
            from, i);
}

static void play(uint64_t number) {
  const Round round = round_of(number);
  const int others = size_of_world - 1, all = round.burst * others;
  Received* received = allocate((size_t)all * sizeof *received);
  MPI_Status* statuses = allocate(2 * (size_t)all * sizeof *statuses);
  started = 0;
  for (int i = 0; i < all; ++i) received[i].words = allocate(kWordsMax * sizeof(uint64_t));
  for (int i = 0; i < all && round.way == kPostedFirst; ++i)
    MPI_Irecv(received[i].words, kWordsMax, MPI_UINT64_T,
              round.from_any ? MPI_ANY_SOURCE : (rank_of_world + 1 + i % others) % size_of_world,
              round.any_tag ? MPI_ANY_TAG : round.tag, MPI_COMM_WORLD, &requests[started++]);
  for (int i = 0; i < all; ++i) start_send(&round, (rank_of_world + 1 + i % others) % size_of_world, i);
  for (int i = 0; i < all && round.way != kPostedFirst; ++i)
    receive(&round, round.from_any ? MPI_ANY_SOURCE : (rank_of_world + 1 + i % others) % size_of_world, &received[i],
            round.way == kProbed || (round.way == kMixed && mix(number + (uint64_t)i) % 2 == 0));
  MPI_Waitall(started, requests, statuses);
  for (int i = 0; i < all; ++i) {
    if (round.way == kPostedFirst) received[i].status = statuses[i];
    check(&round, &received[i]);
    free(received[i].words);
    free(sent_words[i]);
  }
  free(statuses);
  free(received);
  MPI_Barrier(MPI_COMM_WORLD); /* or receives from any would take messages of the next round */
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 60;
  if (argc > 2) seed = (uint64_t)atoi(argv[2]);
  const size_t all = kBurstMax * (size_t)size_of_world;
  requests = allocate(2 * all * sizeof *requests);
  sent_words = allocate(all * sizeof *sent_words);
  sent_to = calloc((size_t)size_of_world, sizeof *sent_to);
  received_from = calloc((size_t)size_of_world, sizeof *received_from);
  for (int i = 0; i < rounds; ++i) play((uint64_t)i);
  free(received_from);
  free(sent_to);
  free(sent_words);
  free(requests);
  return end_checks("random_messages");
}
