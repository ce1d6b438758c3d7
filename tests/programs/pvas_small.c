/* The smallest task: allocates a little, may report to an address in the root's memory, and waits for the end of its
   input. usage: pvas-small exit CODE | pvas-small meet ADDRESS [MAPPINGS] | pvas-small put ADDRESS VALUE |
   pvas-small publish ADDRESS VALUE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int own_global = 5;

static void* address_of(const char* text) {
  return (void*)(uintptr_t)strtoull(text, NULL, 16);
}

/* Adds one to the counter that all tasks meet at, then waits until the root closes the pipe. */
static int meet(int* counter) {
  char byte;
  char* block = malloc(1000);
  if (block == NULL || own_global != 5) return 2;
  own_global = 6;
  memset(block, 1, 1000);
  __atomic_fetch_add(counter, 1, __ATOMIC_SEQ_CST);
  while (read(0, &byte, 1) > 0) {
  }
  free(block);
  return own_global == 6 ? 0 : 3;
}

/* As many libraries would: pages that differ from their neighbours in what may be done with them. */
static int add_mappings(int count) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* pages = mmap(NULL, (size_t)count * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return -1;
  for (int i = 0; i < count; i += 2)
    if (mprotect(pages + (size_t)i * page, page, PROT_READ | PROT_WRITE) != 0) return -1;
  return 0;
}

/* Tells the root where this task's global is, and waits until a peer has stored VALUE there. */
static int publish(int** place, int value) {
  __atomic_store_n(place, &own_global, __ATOMIC_RELEASE);
  while (__atomic_load_n(&own_global, __ATOMIC_ACQUIRE) != value) usleep(100);
  return 0;
}

/* Stores VALUE into the global of the task that published its address. */
static int put(int** place, int value) {
  int* target;
  while ((target = __atomic_load_n(place, __ATOMIC_ACQUIRE)) == NULL) usleep(100);
  if (target == &own_global) return 2;
  __atomic_store_n(target, value, __ATOMIC_RELEASE);
  return own_global == 5 ? 0 : 3;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "exit") == 0) return atoi(argv[2]);
  if (argc == 3 && strcmp(argv[1], "meet") == 0) return meet(address_of(argv[2]));
  if (argc == 4 && strcmp(argv[1], "meet") == 0)
    return add_mappings(atoi(argv[3])) == 0 ? meet(address_of(argv[2])) : 4;
  if (argc == 4 && strcmp(argv[1], "publish") == 0) return publish(address_of(argv[2]), atoi(argv[3]));
  if (argc == 4 && strcmp(argv[1], "put") == 0) return put(address_of(argv[2]), atoi(argv[3]));
  fprintf(stderr, "pvas-small: bad arguments\n");
  return 99;
}
