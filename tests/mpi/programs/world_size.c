// Says how many ranks there are; with an argument loads that library first, and calls no MPI. With -DTOOL a library
// that stands between the program and MPI.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#ifdef TOOL

int MPI_Comm_size(MPI_Comm comm, int* size) {
  puts("seen by the tool");
  return PMPI_Comm_size(comm, size);
}

#else

// For longer than a launcher looks the other way.
static void rest(void) {
  const struct timespec time = {2, 0};
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
  if (size == 1) rest();
  printf("of %d\n", size);
  return MPI_Finalize();
}

#endif
