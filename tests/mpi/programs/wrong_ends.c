/* Programs that begin or end as they should not: "wrong_ends HOW", read by ../wrong_programs.py. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "check.h"

static void* call_barrier(void* unused) {
  MPI_Barrier(MPI_COMM_WORLD);
  return unused;
}

static void* call_barrier_and_go_on(void* unused) {
  REQUIRE(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS, "two threads may call");
  return unused;
}

static void* call_finalize(void* unused) {
  MPI_Finalize();
  return unused;
}

static atomic_int is_about_to_receive;

static void* receive(void* unused) {
  int value;
  is_about_to_receive = 1;
  MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return unused;
}

/* Until it probably is in MPI_Recv. */
static void let_another_receive(void) {
  const struct timespec moment = {0, 300000000};
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, receive, NULL) == 0, "no thread");
  do nanosleep(&moment, NULL);
  while (!is_about_to_receive);
  nanosleep(&moment, NULL);
}

static void in_a_thread(void* (*body)(void*)) {
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, body, NULL) == 0, "no thread");
  pthread_join(thread, NULL);
}

static void start(int* argc, char*** argv, const char* how) {
  int provided = -1;
  if (strcmp(how, "funneled") == 0) MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  if (strcmp(how, "finalize") == 0 || strcmp(how, "threads") == 0)
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < 0) return start_checks(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_world);
}

static void stay_or_go(const char* how) {
  MPI_Request request;
  static int value;
  if (strcmp(how, "return") == 0) exit(0);
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 42);
  if (strcmp(how, "crash") == 0) raise(SIGSEGV);
  if (strcmp(how, "single") == 0 || strcmp(how, "funneled") == 0) in_a_thread(call_barrier);
  if (strcmp(how, "returned") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    in_a_thread(call_barrier_and_go_on);
  }
  if (strcmp(how, "threads") == 0) let_another_receive();
  if (strcmp(how, "finalize") == 0) in_a_thread(call_finalize);
  if (strcmp(how, "pending") == 0) MPI_Issend(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &request);
}

/* Nobody looks at what they return. */
static void call_missing_functions(void) {
  MPI_Win window;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win_create(&rank_of_world, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
}

static void call_different_collectives(void) {
  double values[12] = {0}, sums[12];
  if (rank_of_world == 1)
    MPI_Reduce(values, sums, 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  else
    MPI_Bcast(values, 12, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  int size;
  if (strcmp(how, "before") == 0) MPI_Comm_size(MPI_COMM_WORLD, &size);
  start(&argc, &argv, how);
  if (rank_of_world == 1) stay_or_go(how);
  if (rank_of_world == 1 && strcmp(how, "missing") == 0) call_missing_functions();
  if (strcmp(how, "collectives") == 0) call_different_collectives();
  MPI_Finalize();
  if (strcmp(how, "after") == 0) MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}
