// Says how many ranks there are; with an argument loads that library first, and calls no MPI.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static void rest(void) {
  const struct timespec time = {0, 500 * 1000 * 1000};
  nanosleep(&time, NULL);
}

int main(int count, char** arguments) {
  if (count > 1) {
    if (dlopen(arguments[1], RTLD_NOW) == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    rest();
    puts("loaded");
    return 0;
  }
  int size = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rest();
  printf("of %d\n", size);
  return MPI_Finalize();
}
