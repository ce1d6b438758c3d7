/* Gives its place to the program that its arguments name. */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc > 1) execv(argv[1], argv + 1);
  perror("gives_place");
  return 1;
}
