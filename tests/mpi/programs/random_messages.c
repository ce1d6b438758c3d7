/* Messages of many sizes, contiguous and scattered, in bursts between all ranks, in all modes, persistent or not;
   posted before or after they are sent, probed, matched, received from one or from any; ended by any of MPI's waits and
   tests; among receives that are cancelled. Each is checked by its status and content, and for its order.
   random_messages [ROUNDS [SEED]] */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kWordsMax = 4096, kBufferedWordsMax = 140, kBurstMax = 40, kTags = 5 };

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
  int persistent_receives;
  enum { kPostedFirst, kBlocking, kProbed, kMatched, kMixed } way;
  enum { kWaitAll, kWaitSome, kWaitAny, kTestAll, kTestSome, kTestAny } end;
} Round;

static Round round_of(uint64_t number) {
  const uint64_t bits = mix(seed << 20 ^ number);
  const Round round = {.tag = (int)(number % kTags),
                       .burst = 1 + (int)(bits % kBurstMax),
                       .from_any = (bits >> 8) % 3 == 0,
                       .any_tag = (int)((bits >> 12) % 2),
                       .scattered = (bits >> 16) % 3 == 0,
                       .persistent_receives = (bits >> 20) % 3 == 0,
                       .way = (int)((bits >> 24) % 5),
                       .end = (int)((bits >> 32) % 6)};
  return round;
}

typedef struct {
  uint64_t* words;
  MPI_Status status;
} Received;

static MPI_Request* requests;
static MPI_Status* statuses;
static int started;
static uint64_t** sent_words;
static uint64_t* sent_to;       /* messages, in all rounds */
static uint64_t* received_from; /* likewise */

/* How it goes, only its sender knows. */
static void start_in_a_mode(const void* data, int count, MPI_Datatype type, int words, int to, int tag,
                            uint64_t first) {
  MPI_Request* const request = &requests[started++];
  const int is_buffered = words <= kBufferedWordsMax;
  switch (mix(first + 1) % 8) {
    case 0:
      MPI_Issend(data, count, type, to, tag, MPI_COMM_WORLD, request);
      return;
    case 1:
      if (!is_buffered) break;
      MPI_Ibsend(data, count, type, to, tag, MPI_COMM_WORLD, request);
      return;
    case 2:
      if (!is_buffered) break;
      MPI_Bsend(data, count, type, to, tag, MPI_COMM_WORLD);
      *request = MPI_REQUEST_NULL;
      return;
    case 3:
      MPI_Send_init(data, count, type, to, tag, MPI_COMM_WORLD, request);
      MPI_Start(request);
      return;
    case 4:
      MPI_Ssend_init(data, count, type, to, tag, MPI_COMM_WORLD, request);
      MPI_Start(request);
      return;
    default:
      break;
  }
  MPI_Isend(data, count, type, to, tag, MPI_COMM_WORLD, request);
}

static void start_send(const Round* round, int to, int place) {
  const uint64_t first = first_word(rank_of_world, to, sent_to[to]++);
  const int words = words_of(first), step = round->scattered ? 2 : 1;
  uint64_t* data = sent_words[place] = allocate(((size_t)(step * words) + 1) * sizeof *data);
  for (int i = 0; i < words; ++i) data[step * i] = first + (uint64_t)i;
  if (!round->scattered) {
    start_in_a_mode(data, words, MPI_UINT64_T, words, to, round->tag, first);
    return;
  }
  MPI_Datatype type;
  MPI_Type_vector(words, 1, step, MPI_UINT64_T, &type);
  MPI_Type_commit(&type);
  start_in_a_mode(data, 1, type, words, to, round->tag, first);
  MPI_Type_free(&type);
}

static void post_receive(const Round* round, int from, Received* received) {
  const int tag = round->any_tag ? MPI_ANY_TAG : round->tag;
  MPI_Request* const request = &requests[started++];
  if (round->persistent_receives) {
    MPI_Recv_init(received->words, kWordsMax, MPI_UINT64_T, from, tag, MPI_COMM_WORLD, request);
    MPI_Start(request);
  } else {
    MPI_Irecv(received->words, kWordsMax, MPI_UINT64_T, from, tag, MPI_COMM_WORLD, request);
  }
}

static void receive_matched(int from, int tag, uint64_t bits, Received* received) {
  MPI_Message message = MPI_MESSAGE_NULL;
  int words = -1, is_there = 0;
  if (bits % 2 == 0) MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, &received->status);
  while (bits % 2 != 0 && !is_there) MPI_Improbe(from, tag, MPI_COMM_WORLD, &is_there, &message, &received->status);
  MPI_Get_count(&received->status, MPI_UINT64_T, &words);
  if (bits % 3 != 0) {
    MPI_Mrecv(received->words, words, MPI_UINT64_T, &message, &received->status);
  } else {
    MPI_Request request;
    MPI_Imrecv(received->words, words, MPI_UINT64_T, &message, &request);
    MPI_Wait(&request, &received->status);
  }
  REQUIRE(message == MPI_MESSAGE_NULL, "seed %d: a message that has been received stays", (int)seed);
}

static void receive(const Round* round, int from, Received* received, uint64_t bits) {
  int tag = round->any_tag ? MPI_ANY_TAG : round->tag, words = kWordsMax;
  if (round->way == kMatched || (round->way == kMixed && bits % 3 == 0)) {
    receive_matched(from, tag, bits >> 8, received);
    return;
  }
  if (round->way == kProbed || (round->way == kMixed && bits % 3 == 1)) {
    MPI_Probe(from, tag, MPI_COMM_WORLD, &received->status);
    MPI_Get_count(&received->status, MPI_UINT64_T, &words);
    from = received->status.MPI_SOURCE;
    tag = received->status.MPI_TAG;
  }
  MPI_Recv(received->words, words, MPI_UINT64_T, from, tag, MPI_COMM_WORLD, &received->status);
}

/* All that have been started; persistent ones go after that. */
static void end_all(const Round* round) {
  int done = 0, count = 0, place = 0;
  int* const places = allocate((size_t)started * sizeof *places);
  MPI_Status* const some = allocate((size_t)started * sizeof *some);
  if (round->end == kWaitAll) MPI_Waitall(started, requests, statuses);
  while (round->end == kTestAll && !done) MPI_Testall(started, requests, &done, statuses);
  while (round->end == kWaitSome || round->end == kTestSome) {
    if (round->end == kWaitSome)
      MPI_Waitsome(started, requests, &count, places, some);
    else
      MPI_Testsome(started, requests, &count, places, some);
    if (count == MPI_UNDEFINED) break;
    for (int i = 0; i < count; ++i) statuses[places[i]] = some[i];
  }
  while (round->end == kWaitAny || round->end == kTestAny) {
    done = 1;
    if (round->end == kWaitAny)
      MPI_Waitany(started, requests, &place, some);
    else
      MPI_Testany(started, requests, &place, &done, some);
    if (done && place == MPI_UNDEFINED) break;
    if (done) statuses[place] = *some;
  }
  for (int i = 0; i < started; ++i)
    if (requests[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests[i]);
  free(some);
  free(places);
}

/* A receive that nothing comes for, in the midst of others. */
static MPI_Request receive_nothing(int* word) {
  MPI_Request request;
  MPI_Irecv(word, 1, MPI_INT, (rank_of_world + 1) % size_of_world, kTags + 1, MPI_COMM_WORLD, &request);
  return request;
}

static void cancel(MPI_Request* request) {
  MPI_Status status;
  int is_cancelled = 0;
  MPI_Cancel(request);
  MPI_Wait(request, &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  REQUIRE(is_cancelled, "seed %d: a receive that nothing comes for can't be cancelled", (int)seed);
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
  int nothing = 0;
  MPI_Request in_vain = MPI_REQUEST_NULL;
  started = 0;
  for (int i = 0; i < all; ++i) received[i].words = allocate(kWordsMax * sizeof(uint64_t));
  for (int i = 0; i < all && round.way == kPostedFirst; ++i)
    post_receive(&round, round.from_any ? MPI_ANY_SOURCE : (rank_of_world + 1 + i % others) % size_of_world,
                 &received[i]);
  if (number % 3 == 0) in_vain = receive_nothing(&nothing);
  for (int i = 0; i < all; ++i) start_send(&round, (rank_of_world + 1 + i % others) % size_of_world, i);
  for (int i = 0; i < all && round.way != kPostedFirst; ++i)
    receive(&round, round.from_any ? MPI_ANY_SOURCE : (rank_of_world + 1 + i % others) % size_of_world, &received[i],
            mix(number + (uint64_t)i));
  end_all(&round);
  if (in_vain != MPI_REQUEST_NULL) cancel(&in_vain);
  for (int i = 0; i < all; ++i) {
    if (round.way == kPostedFirst) received[i].status = statuses[i];
    check(&round, &received[i]);
    free(received[i].words);
    free(sent_words[i]);
  }
  free(received);
  MPI_Barrier(MPI_COMM_WORLD); /* or receives from any would take messages of the next round */
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  const int rounds = argc > 1 ? atoi(argv[1]) : 60;
  if (argc > 2) seed = (uint64_t)atoi(argv[2]);
  const size_t all = kBurstMax * (size_t)size_of_world;
  requests = allocate(2 * all * sizeof *requests);
  statuses = allocate(2 * all * sizeof *statuses);
  const size_t room = all * (kBufferedWordsMax * sizeof(uint64_t) + MPI_BSEND_OVERHEAD);
  void* buffer = allocate(room);
  MPI_Buffer_attach(buffer, (int)room);
  sent_words = allocate(all * sizeof *sent_words);
  sent_to = calloc((size_t)size_of_world, sizeof *sent_to);
  received_from = calloc((size_t)size_of_world, sizeof *received_from);
  for (int i = 0; i < rounds; ++i) play((uint64_t)i);
  int detached = 0;
  MPI_Buffer_detach(&buffer, &detached);
  REQUIRE((size_t)detached == room, "a buffer of %d bytes is detached", detached);
  free(buffer);
  free(statuses);
  free(received_from);
  free(sent_to);
  free(sent_words);
  free(requests);
  return end_checks("random_messages");
}
