/* Another libc in a task: allocation from several threads, and detached threads, whose last act in musl is to unmap the
   stack they stand on. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int ended = 0;

static void* allocate(void* unused) {
  for (int i = 0; i < 500; ++i) {
    char* block = malloc(1 + (size_t)(i * 7919) % 200000);
    if (block == NULL) exit(2);
    block[0] = 1;
    free(block);
  }
  __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
  return unused;
}

int main(void) {
  const int count = 60;
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &detached, allocate, NULL) != 0) return 3;
  }
  while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < count) usleep(100);
  usleep(2000); /* Let the last of them go. */
  return 0;
}
