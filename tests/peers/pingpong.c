// Ping-pong over MPI, as `coracle bench pingpong` does it: two ranks, buffers of their own for sending and receiving,
// half a round trip. Prints "bytes nanoseconds" per size: the median of batches. `pingpong fresh`: senders have just
// written all of what they send, and receivers read all of it. For tests/peers/compare-messages and compare-mpi.
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBatches = 20, kLargest = 16 << 20 };
static const double kBatchSeconds = 1e-3;

static uint64_t outgoing[kLargest / sizeof(uint64_t)];
static uint64_t incoming[kLargest / sizeof(uint64_t)];
static int fresh;

static void write_all(int bytes, uint64_t number) {
  for (size_t i = 0; i < (size_t)bytes / sizeof outgoing[0]; ++i) outgoing[i] = number + i;
}

static void read_all(int bytes, uint64_t number) {
  int right = 1;
  for (size_t i = 0; i < (size_t)bytes / sizeof incoming[0]; ++i) right &= incoming[i] == number + i;
  if (right) return;
  fprintf(stderr, "pingpong: message %" PRIu64 " of %d bytes: wrong contents\n", number, bytes);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void send(int bytes, int to, uint64_t number) {
  if (fresh) write_all(bytes, number);
  MPI_Send(outgoing, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD);
}

static void receive(int bytes, int from, uint64_t number) {
  MPI_Recv(incoming, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (fresh) read_all(bytes, number);
}

/// Seconds that `count` round trips of `bytes` take.
static double round_trips(int rank, int bytes, long count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (long i = 0; i < count; ++i) {
    if (rank == 0) {
      send(bytes, 1, (uint64_t)i);
      receive(bytes, 1, (uint64_t)i);
    } else {
      receive(bytes, 0, (uint64_t)i);
      send(bytes, 0, (uint64_t)i);
    }
  }
  return MPI_Wtime() - begin;
}

/// Round trips that take a batch's time; the same number on both ranks.
static long calibrate(int rank, int bytes) {
  for (long count = 1;; count *= 2) {
    int enough = round_trips(rank, bytes, count) >= kBatchSeconds;
    MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (enough) return count;
  }
}

static int by_size(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char** argv) {
  static const int sizes[] = {8, 64, 128, 256, 512, 1024, 4096, 8192, 16384, 65536, 262144, 1 << 20, 4 << 20, 16 << 20};
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    fprintf(stderr, "pingpong: needs 2 ranks, not %d\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  fresh = argc > 1 && strcmp(argv[1], "fresh") == 0;
  if (argc > 1 + fresh) {
    fprintf(stderr, "usage: pingpong [fresh]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  memset(outgoing, 1, sizeof outgoing);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    double samples[kBatches];
    const long count = calibrate(rank, sizes[i]);
    for (int batch = 0; batch < kBatches; ++batch)
      samples[batch] = round_trips(rank, sizes[i], count) * 1e9 / (2 * (double)count);
    qsort(samples, kBatches, sizeof samples[0], by_size);
    if (rank == 0) printf("%d %.1f\n", sizes[i], (samples[kBatches / 2 - 1] + samples[kBatches / 2]) / 2);
  }
  MPI_Finalize();
  return 0;
}
