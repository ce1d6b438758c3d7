/* Programs that call from several threads and have asked for none of it (MPI_Init): MPI forbids that, and Open MPI lets
   them run as long as only one thread calls at a time. The first call of another thread finds the main one in whatever
   the rank's number says. */
#define _DEFAULT_SOURCE /* usleep */
#include <pthread.h>
#include <unistd.h>

#include "check.h"

#define THREADS 3
#define ROUNDS 300

static volatile int is_over; /* of the other thread */

/* What only asks is answered in any thread. */
static void ask(void) {
  int rank = -1, size = -1, is_main = 1, level = -1, count = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Is_thread_main(&is_main);
  MPI_Query_thread(&level);
  MPI_Type_size(MPI_DOUBLE, &count);
  REQUIRE(rank == rank_of_world && size == size_of_world && !is_main && level == MPI_THREAD_SINGLE && count == 8,
          "rank %d of %d, main %d, level %d, %d bytes", rank, size, is_main, level, count);
}

static void send_to_self(int value) {
  MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
}

static int receive_from_self(void) {
  int value = -1;
  MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return value;
}

static void* call_first(void* argument) {
  ask();
  usleep(20000); /* the main thread is where it is to be */
  send_to_self(5);
  is_over = 1;
  return argument;
}

static void compute(void) {
  volatile double value = 1;
  while (!is_over) value = value * 1.0001 + 1;
}

static void call_on(void) {
  for (int i = 0; !is_over || i < 1000; ++i) {
    int out = i, in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 8, &in, 1, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    REQUIRE(in == i, "%d of %d", in, i);
  }
}

/* A function of the program that a function of MPI calls, and that calls another. */
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lowest, extent;
  MPI_Type_get_extent(*type, &lowest, &extent);
  REQUIRE(extent == sizeof(int), "%ld", (long)extent);
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((const int*)in)[i];
}

static void let_it_call(void) {
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  for (int i = 0; !is_over || i < 1000; ++i) {
    int in = i, out = 1;
    MPI_Reduce_local(&in, &out, 1, MPI_INT, op);
    REQUIRE(out == i + 1, "%d", out);
  }
  MPI_Op_free(&op);
}

static void poll(void) {
  MPI_Request request;
  int value = -1, is_done = 0;
  MPI_Irecv(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
  while (!is_done) MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  REQUIRE(value == 5, "%d", value);
}

static void let_first_call(void) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, call_first, NULL) == 0, "no thread");
  int is_received = 0;
  switch (rank_of_world % 6) {
    case 0:
      is_received = receive_from_self() == 5;
      break;
    case 1:
      break;
    case 2:
      compute();
      break;
    case 3:
      call_on();
      break;
    case 4:
      let_it_call();
      break;
    default:
      poll();
      is_received = 1;
  }
  if (!is_received) REQUIRE(receive_from_self() == 5, "another value");
  pthread_join(thread, NULL);
}

/* From then on as where they have asked: all at once, short and long messages, and a collective of each thread's own.
 */
static MPI_Comm comms[THREADS];

static void* exchange(void* argument) {
  const int self = (int)(long)argument;
  const int next = (rank_of_world + 1) % size_of_world;
  const int previous = (rank_of_world + size_of_world - 1) % size_of_world;
  static int values[THREADS][2][20000];
  for (int round = 0; round < ROUNDS; ++round) {
    const int count = round % 20 == 19 ? 20000 : 1 + round;
    int* const out = values[self][0];
    int* const in = values[self][1];
    for (int i = 0; i < count; ++i) out[i] = made_up(rank_of_world, self, round + i);
    MPI_Sendrecv(out, count, MPI_INT, next, self, in, count, MPI_INT, previous, self, comms[self], MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
      REQUIRE(in[i] == made_up(previous, self, round + i), "thread %d, round %d, %d: %d", self, round, i, in[i]);
    int sum = -1;
    MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, comms[self]);
    REQUIRE(sum == round * size_of_world, "thread %d, round %d: %d", self, round, sum);
  }
  return NULL;
}

int main(int argc, char** argv) {
  start_checks(&argc, &argv);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  let_first_call();
  pthread_t threads[THREADS];
  for (long i = 1; i < THREADS; ++i)
    REQUIRE(pthread_create(&threads[i], NULL, exchange, (void*)i) == 0, "no thread %ld", i);
  exchange(NULL);
  for (int i = 1; i < THREADS; ++i) pthread_join(threads[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&comms[i]);
  return end_checks("unasked threads");
}
