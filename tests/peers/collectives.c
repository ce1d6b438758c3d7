// A collective of MPI in a loop, without a barrier in between: the twin of collectives.cpp, line by line. Prints
// "collective ranks bytes nanoseconds" per size: the median of batches, each as long as its slowest rank takes. With
// `fresh` in front, all of the data is written before each operation, and read after it. For
// tests/peers/compare-collectives and compare-mpi.
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBatchesMax = 15, kPage = 4096 };
static const double kBatchNs = 5e6;   // a batch takes at least so long, or is a single operation
static const double kFigureNs = 1e8;  // no more batches once a figure has taken so long
static const double kWarmUpNs = 2e6;
static const double kSettleNs = 2e8;

static int rank;
static int ranks;
static int fresh;
static uint64_t* source;  // of those that have two buffers
static uint64_t* data;
static MPI_Comm back;  // the ranks from the last to the first

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/// What `from` sends to `to` as word `word` of operation `number`.
static uint64_t word_of(int from, int to, uint64_t word, uint64_t number) {
  return number * 1000003 + word * 8191 + (uint64_t)from * 131 + (uint64_t)to;
}

static void expect(int right, const char* collective, uint64_t bytes, uint64_t number) {
  if (right) return;
  fprintf(stderr, "collectives: rank %d: %s of %" PRIu64 " bytes, operation %" PRIu64 ": wrong result\n", rank,
          collective, bytes, number);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Each operation changes and checks every `stride`-th word: all of them before anything is timed, the first and the
// last one of the data (of each block, of collectives that have blocks) in timed batches, unless these are of fresh
// data.

static void broadcasts(uint64_t bytes, uint64_t count, uint64_t stride) {
  const uint64_t words = bytes / 8;
  for (uint64_t number = 0; number < count; ++number) {
    if (rank == 0)
      for (uint64_t i = 0; i < words; i += stride) data[i] = word_of(0, 0, i, number);
    MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    int right = 1;
    for (uint64_t i = 0; i < words; i += stride) right &= data[i] == word_of(0, 0, i, number);
    expect(right, "broadcast", bytes, number);
  }
}

static void all_reduces(uint64_t bytes, uint64_t count, uint64_t stride) {
  double* values = (double*)data;
  const uint64_t words = bytes / 8;
  for (uint64_t number = 0; number < count; ++number) {
    const double step = (double)(number % 1024);
    for (uint64_t i = 0; i < words; i += stride) values[i] = step + rank + (double)i;
    MPI_Allreduce(MPI_IN_PLACE, values, (int)words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int right = 1;
    for (uint64_t i = 0; i < words; i += stride)
      right &= values[i] == ranks * (step + (double)i) + ranks * (ranks - 1) / 2;
    expect(right, "all_reduce", bytes, number);
  }
}

// Where some wait for nobody, and would be a whole batch ahead, the way goes there and back: in every second operation
// from the last rank to the first.

static void reduces(uint64_t bytes, uint64_t count, uint64_t stride) {
  double* values = (double*)data;
  const uint64_t words = bytes / 8;
  for (uint64_t number = 0; number < count; ++number) {
    const double step = (double)(number % 1024);
    for (uint64_t i = 0; i < words; i += stride) values[i] = step + rank + (double)i;
    const int root = number % 2 == 0 ? 0 : ranks - 1;
    MPI_Reduce(rank == root ? MPI_IN_PLACE : values, values, (int)words, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    int right = 1;
    for (uint64_t i = 0; rank == root && i < words; i += stride)
      right &= values[i] == ranks * (step + (double)i) + ranks * (ranks - 1) / 2;
    expect(right, "reduce", bytes, number);
  }
}

/// The data is divided among the ranks as evenly as can be.
static void reduce_scatters(uint64_t bytes, uint64_t count, uint64_t stride) {
  double* values = (double*)source;
  double* mine = (double*)data;
  const uint64_t words = bytes / 8;
  int* counts = malloc(sizeof(int) * (size_t)ranks);
  uint64_t first = 0;
  for (int to = 0; to < ranks; ++to) {
    counts[to] = (int)(words / (uint64_t)ranks + ((uint64_t)to < words % (uint64_t)ranks));
    if (to < rank) first += (uint64_t)counts[to];
  }
  const uint64_t own = (uint64_t)counts[rank];
  const uint64_t own_stride = stride == 1 || own < 2 ? 1 : own - 1;
  for (uint64_t number = 0; number < count; ++number) {
    const double step = (double)(number % 1024);
    for (int to = 0, begin = 0; to < ranks; begin += counts[to++]) {
      const int by = stride == 1 || counts[to] < 2 ? 1 : counts[to] - 1;
      for (int i = begin; i < begin + counts[to]; i += by) values[i] = step + rank + i;
    }
    MPI_Reduce_scatter(values, mine, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int right = 1;
    for (uint64_t i = 0; i < own; i += own_stride)
      right &= mine[i] == ranks * (step + (double)(first + i)) + ranks * (ranks - 1) / 2;
    expect(right, "reduce_scatter", bytes, number);
  }
  free(counts);
}

/// Exclusive: of those before; the first one gets nothing.
static void scans_of(int exclusive, uint64_t bytes, uint64_t count, uint64_t stride) {
  double* values = (double*)data;
  const uint64_t words = bytes / 8;
  for (uint64_t number = 0; number < count; ++number) {
    const double step = (double)(number % 1024);
    const int there = number % 2 == 0;
    const int place = there ? rank : ranks - 1 - rank;
    const int summed = exclusive ? place : place + 1;
    for (uint64_t i = 0; i < words; i += stride) values[i] = step + place + (double)i;
    (exclusive ? MPI_Exscan : MPI_Scan)(MPI_IN_PLACE, values, (int)words, MPI_DOUBLE, MPI_SUM,
                                        there ? MPI_COMM_WORLD : back);
    int right = 1;
    for (uint64_t i = 0; summed > 0 && i < words; i += stride)
      right &= values[i] == summed * (step + (double)i) + summed * (summed - 1) / 2;
    expect(right, exclusive ? "exclusive_scan" : "scan", bytes, number);
  }
}

static void scans(uint64_t bytes, uint64_t count, uint64_t stride) {
  scans_of(0, bytes, count, stride);
}

static void exclusive_scans(uint64_t bytes, uint64_t count, uint64_t stride) {
  scans_of(1, bytes, count, stride);
}

static void all_to_alls(uint64_t bytes, uint64_t count, uint64_t stride) {
  const uint64_t words = bytes / 8;
  for (uint64_t number = 0; number < count; ++number) {
    for (int peer = 0; peer < ranks; ++peer)
      for (uint64_t i = 0; i < words; i += stride) source[(uint64_t)peer * words + i] = word_of(rank, peer, i, number);
    MPI_Alltoall(source, (int)bytes, MPI_BYTE, data, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    int right = 1;
    for (int peer = 0; peer < ranks; ++peer)
      for (uint64_t i = 0; i < words; i += stride)
        right &= data[(uint64_t)peer * words + i] == word_of(peer, rank, i, number);
    expect(right, "all_to_all", bytes, number);
  }
}

static void all_gathers(uint64_t bytes, uint64_t count, uint64_t stride) {
  const uint64_t words = bytes / 8;
  for (uint64_t number = 0; number < count; ++number) {
    for (uint64_t i = 0; i < words; i += stride) source[i] = word_of(rank, 0, i, number);
    MPI_Allgather(source, (int)bytes, MPI_BYTE, data, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    int right = 1;
    for (int peer = 0; peer < ranks; ++peer)
      for (uint64_t i = 0; i < words; i += stride)
        right &= data[(uint64_t)peer * words + i] == word_of(peer, 0, i, number);
    expect(right, "all_gather", bytes, number);
  }
}

static void gathers(uint64_t bytes, uint64_t count, uint64_t stride) {
  const uint64_t words = bytes / 8;
  for (uint64_t number = 0; number < count; ++number) {
    const int root = number % 2 == 0 ? 0 : ranks - 1;
    for (uint64_t i = 0; i < words; i += stride) source[i] = word_of(rank, root, i, number);
    MPI_Gather(source, (int)bytes, MPI_BYTE, data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    int right = 1;
    for (int peer = 0; rank == root && peer < ranks; ++peer)
      for (uint64_t i = 0; i < words; i += stride)
        right &= data[(uint64_t)peer * words + i] == word_of(peer, root, i, number);
    expect(right, "gather", bytes, number);
  }
}

static void scatters(uint64_t bytes, uint64_t count, uint64_t stride) {
  const uint64_t words = bytes / 8;
  for (uint64_t number = 0; number < count; ++number) {
    const int root = number % 2 == 0 ? 0 : ranks - 1;
    for (int peer = 0; rank == root && peer < ranks; ++peer)
      for (uint64_t i = 0; i < words; i += stride) source[(uint64_t)peer * words + i] = word_of(root, peer, i, number);
    MPI_Scatter(source, (int)bytes, MPI_BYTE, data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    int right = 1;
    for (uint64_t i = 0; i < words; i += stride) right &= data[i] == word_of(root, rank, i, number);
    expect(right, "scatter", bytes, number);
  }
}

static void barriers(uint64_t bytes, uint64_t count, uint64_t stride) {
  (void)bytes, (void)stride;
  for (; count != 0; --count) MPI_Barrier(MPI_COMM_WORLD);
}

struct collective {
  const char* name;
  void (*run)(uint64_t bytes, uint64_t count, uint64_t stride);
  int blocks;  // its buffers hold a block per rank
};

/// Nanoseconds that `count` operations take on the slowest rank; the same everywhere.
static double batch_ns(const struct collective* collective, uint64_t bytes, uint64_t count) {
  const uint64_t stride = bytes > 8 && !fresh ? bytes / 8 - 1 : 1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_ns();
  collective->run(bytes, count, stride);
  double taken = now_ns() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return taken;
}

static int by_size(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return (difference > 0) - (difference < 0);
}

static void measure(const struct collective* collective, uint64_t bytes) {
  collective->run(bytes, 2, 1);
  uint64_t count = 1;
  double taken = batch_ns(collective, bytes, count);
  for (double spent = taken; taken < kBatchNs || spent < kWarmUpNs; spent += taken) {
    const double factor = 1.2 * kBatchNs / (taken > 1 ? taken : 1);
    count = (uint64_t)((double)count * (factor < 1 ? 1 : factor > 8 ? 8 : factor)) + 1;
    taken = batch_ns(collective, bytes, count);
  }
  double samples[kBatchesMax];
  int batches = 0;
  for (double spent = 0; batches < kBatchesMax && (batches == 0 || spent < kFigureNs); ++batches) {
    samples[batches] = batch_ns(collective, bytes, count);
    spent += samples[batches];
    samples[batches] /= (double)count;
  }
  qsort(samples, (size_t)batches, sizeof samples[0], by_size);
  if (rank == 0) printf("%s %d %" PRIu64 " %.1f\n", collective->name, ranks, bytes, samples[batches / 2]);
  fflush(stdout);
}

static uint64_t* zeroed(uint64_t bytes) {
  uint64_t* memory = aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(memory, 0, bytes);
  return memory;
}

/// The kernel needs some time until it has spread ranks that outnumber the cores. Rank 0 keeps it.
static void settle(void) {
  const double begin = now_ns();
  for (uint64_t go_on = 1; go_on != 0;) {
    for (int i = 0; i < 10; ++i) MPI_Barrier(MPI_COMM_WORLD);
    go_on = now_ns() - begin < kSettleNs ? 1 : 0;
    MPI_Bcast(&go_on, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  static const struct collective all[] = {{"broadcast", broadcasts, 0},
                                          {"all_reduce", all_reduces, 0},
                                          {"reduce", reduces, 0},
                                          {"reduce_scatter", reduce_scatters, 0},
                                          {"scan", scans, 0},
                                          {"exclusive_scan", exclusive_scans, 0},
                                          {"all_to_all", all_to_alls, 1},
                                          {"all_gather", all_gathers, 1},
                                          {"gather", gathers, 1},
                                          {"scatter", scatters, 1},
                                          {"barrier", barriers, 0}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);
  const struct collective* collective = NULL;
  fresh = argc > 1 && strcmp(argv[1], "fresh") == 0;
  argc -= fresh;
  argv += fresh;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    if (argc > 2 && strcmp(argv[1], all[i].name) == 0) collective = &all[i];
  if (collective == NULL) {
    fprintf(stderr, "usage: collectives [fresh] COLLECTIVE BYTES...; it knows:\n");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) fprintf(stderr, "  %s\n", all[i].name);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  settle();
  for (int i = 2; i < argc; ++i) {
    const uint64_t bytes = strtoull(argv[i], NULL, 10);
    const uint64_t room = (bytes + 8) * (uint64_t)(collective->blocks ? ranks : 1);
    source = zeroed(room);
    data = zeroed(room);
    measure(collective, bytes);
    free(data);
    free(source);
  }
  MPI_Comm_free(&back);
  MPI_Finalize();
  return 0;
}
