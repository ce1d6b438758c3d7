/* Several threads of each process call MPI at once (MPI_THREAD_MULTIPLE): each checks what it gets. */
#define _DEFAULT_SOURCE /* usleep */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define THREADS 4
#define ROUNDS 200
#define MESSAGE_MAX 20000 /* beyond what goes at once */

static MPI_Comm comms[THREADS];

/* Runs `body(0)` to `body(THREADS - 1)` in threads of their own. */
static void in_threads(void* (*body)(void*)) {
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i)
    REQUIRE(pthread_create(&threads[i], NULL, body, (void*)i) == 0, "no thread %ld", i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

static int next(void) {
  return (rank_of_world + 1) % size_of_world;
}
static int previous(void) {
  return (rank_of_world + size_of_world - 1) % size_of_world;
}

/* Around the ring, each thread by a tag of its own; short and long messages. */
static void* exchange(void* argument) {
  const int self = (int)(long)argument;
  int* out = allocate(MESSAGE_MAX * sizeof(int));
  int* in = allocate(MESSAGE_MAX * sizeof(int));
  for (int round = 0; round < ROUNDS; ++round) {
    const int count = round % 10 == 9 ? MESSAGE_MAX : round;
    for (int i = 0; i < count; ++i) out[i] = made_up(rank_of_world, self, round + i);
    MPI_Status status;
    if (round % 2 == 0) {
      MPI_Sendrecv(out, count, MPI_INT, next(), self, in, count, MPI_INT, previous(), self, MPI_COMM_WORLD, &status);
    } else {
      MPI_Request requests[2];
      MPI_Irecv(in, count, MPI_INT, previous(), self, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(out, count, MPI_INT, next(), self, MPI_COMM_WORLD, &requests[1]);
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      MPI_Wait(&requests[0], &status);
    }
    int got = -1;
    MPI_Get_count(&status, MPI_INT, &got);
    REQUIRE(got == count && status.MPI_SOURCE == previous() && status.MPI_TAG == self, "%d of %d from %d, tag %d", got,
            count, status.MPI_SOURCE, status.MPI_TAG);
    for (int i = 0; i < count; ++i)
      REQUIRE(in[i] == made_up(previous(), self, round + i), "thread %d, round %d, %d: %d", self, round, i, in[i]);
  }
  free(out);
  free(in);
  return NULL;
}

/* Each thread has a communicator of its own; blocking and nonblocking collectives. */
static void* collect(void* argument) {
  const int self = (int)(long)argument;
  const MPI_Comm comm = comms[self];
  long* values = allocate(3000 * sizeof(long));
  for (int round = 0; round < ROUNDS; ++round) {
    const int count = 1 + round * 15 % 3000;
    for (int i = 0; i < count; ++i) values[i] = rank_of_world + self + i;
    if (round % 2 == 0) {
      MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_LONG, MPI_SUM, comm);
    } else {
      MPI_Request request;
      MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_LONG, MPI_SUM, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    const long ranks = (long)size_of_world * (size_of_world - 1) / 2;
    for (int i = 0; i < count; ++i)
      REQUIRE(values[i] == ranks + (long)size_of_world * (self + i), "thread %d, round %d, %d: %ld", self, round, i,
              values[i]);
    int root = round % size_of_world;
    int said = rank_of_world == root ? made_up(round, self, 7) : -1;
    MPI_Bcast(&said, 1, MPI_INT, root, comm);
    REQUIRE(said == made_up(round, self, 7), "thread %d, round %d: %d", self, round, said);
    MPI_Barrier(comm);
  }
  free(values);
  return NULL;
}

/* Threads of one process send to each other: those that wait must let the others in. */
static void* to_another_thread(void* argument) {
  const int self = (int)(long)argument;
  const int other = self ^ 1;
  for (int round = 0; round < ROUNDS; ++round) {
    int value = self % 2 == 0 ? made_up(self, other, round) : -1;
    if (self % 2 == 0) {
      if (round % 50 == 0) usleep(20000); /* so that the other one has gone to sleep */
      MPI_Ssend(&value, 1, MPI_INT, 0, 100 + self, MPI_COMM_SELF);
      MPI_Recv(&value, 1, MPI_INT, 0, 100 + other, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      REQUIRE(value == made_up(other, self, round), "thread %d, round %d: %d", self, round, value);
    } else {
      MPI_Recv(&value, 1, MPI_INT, 0, 100 + other, MPI_COMM_SELF, MPI_STATUS_IGNORE);
      REQUIRE(value == made_up(other, self, round), "thread %d, round %d: %d", self, round, value);
      value = made_up(self, other, round);
      MPI_Send(&value, 1, MPI_INT, 0, 100 + self, MPI_COMM_SELF);
    }
  }
  return NULL;
}

/* Messages with one tag, which any thread takes: by a matched probe, so that nobody takes another one's. */
static void* take_any(void* argument) {
  const int self = (int)(long)argument;
  int* data = allocate(ROUNDS * sizeof(int));
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i <= round; ++i) data[i] = made_up(round, i, 3);
    MPI_Request request;
    MPI_Isend(data, round + 1, MPI_INT, next(), 77, MPI_COMM_WORLD, &request);
    MPI_Message message;
    MPI_Status status;
    if (self % 2 == 0) {
      MPI_Mprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &message, &status);
    } else {
      int flag = 0;
      while (!flag) MPI_Improbe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, &message, &status);
    }
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    int* taken = allocate((size_t)count * sizeof(int));
    MPI_Mrecv(taken, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
      REQUIRE(taken[i] == made_up(count - 1, i, 3), "thread %d, %d of %d: %d", self, i, count, taken[i]);
    free(taken);
    int done = 0;
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
  free(data);
  return NULL;
}

/* Objects are made and freed; one thread waits for any of many. */
static void* make_objects(void* argument) {
  const int self = (int)(long)argument;
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Datatype type;
    MPI_Type_vector(3 + self, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    const MPI_Fint number = MPI_Type_c2f(type);
    REQUIRE(MPI_Type_f2c(number) == type, "thread %d: number %d", self, number);
    MPI_Request requests[8];
    int values[8];
    for (int i = 0; i < 8; ++i) MPI_Irecv(&values[i], 1, MPI_INT, 0, 1000 + 10 * self + i, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < 8; ++i) {
      const int sent = made_up(self, round, i);
      MPI_Send(&sent, 1, MPI_INT, 0, 1000 + 10 * self + i, MPI_COMM_SELF);
    }
    for (int i = 0; i < 8; ++i) {
      int which = -1;
      MPI_Waitany(8, requests, &which, MPI_STATUS_IGNORE);
      REQUIRE(which >= 0 && values[which] == made_up(self, round, which), "thread %d: request %d", self, which);
    }
    MPI_Type_free(&type);
  }
  return NULL;
}

/* An error is told to the communicator's handler in whichever thread it is. */
static void* fail(void* argument) {
  const int self = (int)(long)argument;
  for (int round = 0; round < ROUNDS; ++round) {
    const int code = MPI_Send(&round, 1, MPI_INT, size_of_world + self, 0, comms[self]);
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    REQUIRE(class == MPI_ERR_RANK, "thread %d: class %d", self, class);
  }
  return NULL;
}

/* The main thread sleeps in a receive, to which only another thread's message is an answer. */
static void* send_late(void* argument) {
  int main_thread = 1;
  MPI_Is_thread_main(&main_thread);
  REQUIRE(!main_thread, "another thread passes for the main one");
  usleep(100000);
  int value = 5;
  MPI_Send(&value, 1, MPI_INT, 0, 55, MPI_COMM_SELF);
  return argument;
}

static void sleep_in_main(void) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, send_late, NULL) == 0, "no thread");
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, 0, 55, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  REQUIRE(value == 5, "%d", value);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
  MPI_Comm_size(MPI_COMM_WORLD, &size_of_world);
  REQUIRE(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
  MPI_Query_thread(&provided);
  REQUIRE(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
  for (int i = 0; i < THREADS; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
  }
  sleep_in_main();
  in_threads(exchange);
  in_threads(collect);
  in_threads(to_another_thread);
  in_threads(take_any);
  MPI_Barrier(MPI_COMM_WORLD);
  in_threads(make_objects);
  in_threads(fail);
  for (int i = 0; i < THREADS; ++i) MPI_Comm_free(&comms[i]);
  return end_checks("threads");
}
