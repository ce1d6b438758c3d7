/* The C interface, compiled as C and linked without C++ main: it says what went wrong and returns 1, or returns 0; 77
   where there can be no shared address space (meson's code for "skipped"). */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "runtime/pvas/pvas.h"

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: %s is false (%s)\n", __FILE__, __LINE__, #condition, pvas_error()); \
      return 1;                                                                                   \
    }                                                                                             \
  } while (0)

static int shared_word = 0;

static int run_tasks(pvas_t* space) {
  char word[32];
  char* exit_arguments[] = {"pvas-small", "exit", "12", NULL};
  char* meet_arguments[] = {"pvas-small", "meet", word, NULL};
  char* environment[] = {"PATH=/bin", NULL};
  pvas_exit ended = {-2, -2};
  pid_t task = pvas_spawn(space, CORACLE_TEST_PROGRAMS "/pvas-small", exit_arguments, environment);
  CHECK(task > 0);
  CHECK(pvas_wait(space, task, &ended) == 0);
  CHECK(ended.code == 12 && ended.signal == 0);
  CHECK(pvas_wait(space, task, &ended) == -1);
  CHECK(strstr(pvas_error(), "no task") != NULL);

  /* The task reaches this program's memory by the plain address. */
  snprintf(word, sizeof(word), "%llx", (unsigned long long)(size_t)&shared_word);
  task = pvas_spawn(space, CORACLE_TEST_PROGRAMS "/pvas-small", meet_arguments, NULL);
  CHECK(task > 0);
  while (__atomic_load_n(&shared_word, __ATOMIC_SEQ_CST) == 0) {
  }
  CHECK(kill(task, SIGKILL) == 0);
  CHECK(pvas_wait(space, task, NULL) == 0);
  return 0;
}

int main(void) {
  pvas_t* space = pvas_create();
  char* arguments[] = {"x", NULL};
  if (space == NULL) {
    fprintf(stderr, "skipped: %s\n", pvas_error());
    return 77;
  }
  if (run_tasks(space) != 0) return 1;
  CHECK(pvas_spawn(space, "/no/such/program", arguments, NULL) == -1);
  CHECK(strstr(pvas_error(), "/no/such/program") != NULL);
  CHECK(pvas_spawn(space, CORACLE_TEST_PROGRAMS "/pvas-fixed", arguments, NULL) == -1);
  CHECK(strstr(pvas_error(), "-fPIE -pie") != NULL);
  CHECK(pvas_create() == NULL);
  CHECK(strstr(pvas_error(), "one already") != NULL);
  pvas_destroy(space);
  space = pvas_create();
  CHECK(space != NULL);
  pvas_destroy(space);
  pvas_destroy(NULL);
  return 0;
}
