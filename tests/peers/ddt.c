// The patterns of DDTBench over MPI, as `coracle bench ddt` does them: rank 0 sends by the sending datatype, rank 1
// receives by the receiving one and sends back in the same way, each out of and into its one buffer; half a round trip.
// Prints a line of JSON per size and way: the median of batches, and how long a cache line took to change hands. For
// tests/peers/compare-datatypes.
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddt_patterns.h"

enum { kBatchesMax = 100, kPage = 4096, kPiece = 1 << 16 };
static const double kBatchNs = 1e6;  // a batch takes at least so long, or is a single round trip

/// How a message goes. The last is none: it only tells the machine's state, and is measured with every pattern.
enum way { kDatatype, kByHand, kByLibrary, kContiguous, kHandOver, kWays };
static const char* const kWayNames[kHandOver] = {"datatype", "by-hand", "by-library", "contiguous"};

static int rank;
static int wanted[kWays];
static int batches = 20;
static size_t bytes_max = SIZE_MAX;
static unsigned char* buffer;
static unsigned char* packed;  // what by-hand and by-library send
static unsigned char* taken;   // and receive

static void* pages(size_t bytes) {
  void* memory = aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(memory, 0, bytes);
  return memory;
}

// --- messages ---

static void send_one(const struct pattern* pattern, enum way way) {
  int place = 0;
  const int bytes = (int)pattern->bytes;
  if (way == kDatatype) {
    MPI_Send(buffer, 1, pattern->send, 1 - rank, 0, MPI_COMM_WORLD);
    return;
  }
  if (way == kByHand) pack_by_hand(pattern, buffer, packed);
  if (way == kByLibrary) MPI_Pack(buffer, 1, pattern->send, packed, bytes, &place, MPI_COMM_WORLD);
  MPI_Send(packed, bytes, MPI_PACKED, 1 - rank, 0, MPI_COMM_WORLD);
}

static void receive_one(const struct pattern* pattern, enum way way) {
  int place = 0;
  const int bytes = (int)pattern->bytes;
  if (way == kDatatype) {
    MPI_Recv(buffer, 1, pattern->receive, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Recv(taken, bytes, MPI_PACKED, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (way == kByHand) unpack_by_hand(pattern, taken, buffer);
  if (way == kByLibrary) MPI_Unpack(taken, bytes, &place, buffer, 1, pattern->receive, MPI_COMM_WORLD);
}

static void round_trips(const struct pattern* pattern, enum way way, uint64_t count) {
  for (; count != 0; --count) {
    if (rank == 0) send_one(pattern, way);
    receive_one(pattern, way);
    if (rank != 0) send_one(pattern, way);
  }
}

// --- every way is checked before it is timed: each word of a buffer tells its place and its rank ---

static void fill(size_t bytes, int owner) {
  uint32_t* words = (uint32_t*)buffer;
  for (size_t i = 0; i < bytes / 4; ++i) words[i] = (uint32_t)i | (uint32_t)owner << 31;
}

/// Of what a datatype names in a buffer of words that tell their places, in its order: equal for equal datatypes.
static uint64_t fingerprint(const struct pattern* pattern, MPI_Datatype type) {
  int place = 0;
  fill(pattern->buffer_bytes, 0);
  MPI_Pack(buffer, 1, type, packed, (int)pattern->bytes, &place, MPI_COMM_WORLD);
  uint64_t hash = 14695981039346656037ULL;  // FNV-1a, by words
  for (size_t i = 0; i < pattern->bytes / 4; ++i) hash = (hash ^ ((const uint32_t*)packed)[i]) * 1099511628211ULL;
  return hash;
}

static void check(const struct pattern* pattern, enum way way) {
  unsigned char* expected = pages(pattern->buffer_bytes);
  for (int sender = 0; sender < 2; ++sender) {
    fill(pattern->buffer_bytes, sender);
    pack_by_hand(pattern, buffer, packed);
    fill(pattern->buffer_bytes, rank);
    memcpy(expected, buffer, pattern->buffer_bytes);
    unpack_by_hand(pattern, packed, expected);
    if (rank == sender) {
      send_one(pattern, way);
    } else {
      receive_one(pattern, way);
      if (memcmp(buffer, expected, pattern->buffer_bytes) != 0) {
        fprintf(stderr, "ddt: rank %d: %s %s, %s: wrong bytes received\n", rank, pattern->name, pattern->size,
                kWayNames[way]);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }
  free(expected);
}

// --- the machine's state: how long a cache line takes to change hands ---

static uint32_t* flag;  // both ranks' memory; 0 between batches
static MPI_Win flag_window;

static void open_flag(void) {
  MPI_Aint bytes = 0;
  int unit = 0;
  void* own = NULL;
  MPI_Win_allocate_shared(rank == 0 ? kPage : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &flag_window);
  MPI_Win_shared_query(flag_window, 0, &bytes, &unit, &flag);
  if (rank == 0) memset(flag, 0, kPage);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void await_flag(uint32_t value) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

static void hand_over(uint64_t count) {
  for (; count != 0; --count) {
    if (rank != 0) await_flag(1);
    __atomic_store_n(flag, rank == 0, __ATOMIC_RELEASE);
    if (rank == 0) await_flag(0);
  }
}

// --- time ---

/// Nanoseconds per half round trip; counts on rank 0.
static double batch_ns(const struct pattern* pattern, enum way way, uint64_t count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (way == kHandOver)
    hand_over(count);
  else
    round_trips(pattern, way, count);
  return (MPI_Wtime() - begin) * 1e9 / (2 * (double)count);
}

/// Round trips of a batch; the same on both ranks. A single slow batch must not pass for a long one.
static uint64_t calibrate(const struct pattern* pattern, enum way way) {
  for (uint64_t count = 1;;) {
    double fastest = batch_ns(pattern, way, count);
    for (int i = 0; i < 2; ++i) {
      const double again = batch_ns(pattern, way, count);
      if (again < fastest) fastest = again;
    }
    const double lasted = fastest * 2 * (double)count;
    const double factor = 1.3 * kBatchNs / (lasted > 1 ? lasted : 1);
    uint64_t next = (uint64_t)((double)count * (factor > 16 ? 16 : factor));
    if (next <= count) next = count + 1;
    if (lasted >= kBatchNs) next = 0;
    MPI_Bcast(&next, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (next == 0) return count;
    count = next;
  }
}

static int by_size(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return (difference > 0) - (difference < 0);
}

static void print_side(const char* name, const struct pattern* pattern, MPI_Datatype type) {
  int bytes = 0;
  MPI_Aint low = 0, extent = 0;
  MPI_Type_size(type, &bytes);
  MPI_Type_get_true_extent(type, &low, &extent);
  printf(", \"%s\": {\"bytes\": %d, \"low\": %ld, \"high\": %ld, \"fingerprint\": \"%016" PRIx64 "\"}", name, bytes,
         (long)low, (long)(low + extent), fingerprint(pattern, type));
}

static double median_of(double* samples) {
  qsort(samples, (size_t)batches, sizeof samples[0], by_size);
  return (samples[(batches - 1) / 2] + samples[batches / 2]) / 2;
}

static void print_figure(const struct pattern* pattern, enum way way, double* samples, double hand_over_ns) {
  const double median = median_of(samples);
  printf("{\"pattern\": \"%s\", \"size\": \"%s\", \"bytes\": %zu, \"way\": \"%s\"", pattern->name, pattern->size,
         pattern->bytes, kWayNames[way]);
  printf(", \"median_ns\": %.1f, \"min_ns\": %.1f, \"max_ns\": %.1f", median, samples[0], samples[batches - 1]);
  printf(", \"hand_over_ns\": %.1f", hand_over_ns);
  print_side("send", pattern, pattern->send);
  print_side("receive", pattern, pattern->receive);
  printf("}\n");
  fflush(stdout);
}

/// All ways in alternation, batch by batch.
static void measure(const struct pattern* pattern) {
  static double samples[kWays][kBatchesMax];
  uint64_t counts[kWays] = {0};
  if (pattern->bytes > bytes_max) return;
  buffer = pages(pattern->buffer_bytes);
  packed = pages(pattern->bytes);
  taken = pages(pattern->bytes);
  for (int way = 0; way < kWays; ++way) {
    if (!wanted[way]) continue;
    if (way != kContiguous && way != kHandOver) check(pattern, (enum way)way);
    counts[way] = calibrate(pattern, (enum way)way);
  }
  for (int batch = 0; batch < batches; ++batch)
    for (int way = 0; way < kWays; ++way)
      if (wanted[way]) samples[way][batch] = batch_ns(pattern, (enum way)way, counts[way]);
  const double hand_over_ns = median_of(samples[kHandOver]);
  for (int way = 0; way < kHandOver; ++way)
    if (wanted[way] && rank == 0) print_figure(pattern, (enum way)way, samples[way], hand_over_ns);
  free(taken);
  free(packed);
  free(buffer);
}

static void wrong(const char* what, const char* word) {
  if (rank == 0)
    fprintf(stderr,
            "ddt: %s: %s\nusage: ddt [--ways LIST] [--batches N] [--bytes-max N] PATTERN...\n"
            "ways, with commas: datatype (default), by-hand, by-library, contiguous\n",
            word, what);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static void choose_ways(char* list) {
  memset(wanted, 0, sizeof wanted);
  for (char* word = strtok(list, ","); word != NULL; word = strtok(NULL, ",")) {
    int way = 0;
    while (way < kHandOver && strcmp(word, kWayNames[way]) != 0) ++way;
    if (way == kHandOver) wrong("no such way", word);
    wanted[way] = 1;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) wrong("needs 2 ranks", "mpirun");
  wanted[kDatatype] = 1;
  int next = 1;
  for (; next + 1 < argc && strncmp(argv[next], "--", 2) == 0; next += 2) {
    if (strcmp(argv[next], "--ways") == 0)
      choose_ways(argv[next + 1]);
    else if (strcmp(argv[next], "--batches") == 0)
      batches = atoi(argv[next + 1]);
    else if (strcmp(argv[next], "--bytes-max") == 0)
      bytes_max = strtoull(argv[next + 1], NULL, 10);
    else
      wrong("no such option", argv[next]);
  }
  if (batches < 1 || batches > kBatchesMax) wrong("must be from 1 to 100", "--batches");
  if (next == argc) wrong("patterns are missing", "ddt");
  wanted[kHandOver] = 1;
  open_flag();
  for (; next < argc; ++next)
    if (for_each_size(argv[next], measure) == 0) wrong("no such pattern", argv[next]);
  MPI_Win_free(&flag_window);
  MPI_Finalize();
  return 0;
}
