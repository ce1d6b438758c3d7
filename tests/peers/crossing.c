// How long a cache line takes from one processor to another, in ns: two threads, bound to the first and the last
// processor that this process may use, hand one line to and fro. Prints the median of bursts. A virtual machine whose
// processors are moved by their host shows so where they are: below one last-level cache, or below two, which makes
// everything that ranks share several times slower. For tests/peers/turns.py.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kBursts = 9, kCrossings = 4000, kProcessorsMax = 1024 };

static _Alignas(128) atomic_int line;  // how often it has crossed
static int processors[kProcessorsMax];

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int find_processors(void) {
  cpu_set_t all;
  int found = 0;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return 0;
  for (int i = 0; i < CPU_SETSIZE && found < kProcessorsMax; ++i)
    if (CPU_ISSET(i, &all)) processors[found++] = i;
  return found;
}

static void bind_to(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

/// Each turns even numbers into odd ones, or the other way round.
static void hand_over(int odd) {
  for (int i = 0; i < kCrossings; ++i) {
    while (atomic_load_explicit(&line, memory_order_acquire) % 2 != odd) continue;
    atomic_fetch_add_explicit(&line, 1, memory_order_release);
  }
}

static void* other_side(void* processor) {
  bind_to(*(int*)processor);
  for (int i = 0; i < kBursts; ++i) hand_over(1);
  return NULL;
}

static int by_size(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return (difference > 0) - (difference < 0);
}

int main(void) {
  const int count = find_processors();
  if (count < 2) {
    printf("0\n");
    return 0;
  }
  pthread_t other;
  double bursts[kBursts];
  bind_to(processors[0]);
  if (pthread_create(&other, NULL, other_side, &processors[count - 1]) != 0) return 1;
  for (int i = 0; i < kBursts; ++i) {
    const double begin = now_ns();
    hand_over(0);
    bursts[i] = (now_ns() - begin) / (2 * kCrossings);
  }
  pthread_join(other, NULL);
  qsort(bursts, kBursts, sizeof bursts[0], by_size);
  printf("%.1f\n", bursts[kBursts / 2]);
  return 0;
}
