/* A tool that counts, and looks whether it is told well: it prints a line for each rank, and a complaint for what is
   wrong. COUNTING_TOOL in the environment makes it misbehave: refuse, old, mute. */
#include <coracle_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
  const struct coracle_rank_facts* rank;
  uint64_t events;
  uint64_t of_kind[64];
  uint64_t last_ticks;
  uint64_t first_ns;
  int has_ended;
};

static void complain(const struct counts* counts, const char* what) {
  fprintf(stderr, "counting tool: rank %u: %s\n", counts->rank->rank, what);
}

static void count(void* self, const struct coracle_event* event) {
  struct counts* const counts = self;
  if (counts->events == 0) counts->first_ns = counts->rank->nanoseconds(counts->rank, event->ticks);
  ++counts->events;
  if (event->kind < 64) ++counts->of_kind[event->kind];
  if (event->ticks < counts->last_ticks) complain(counts, "time goes back");
  counts->last_ticks = event->ticks;
  if (counts->has_ended) complain(counts, "an event after the end of the rank");
  if (event->kind == CORACLE_RANK_END) counts->has_ended = 1;
  if (event->kind == CORACLE_WAIT_BEGIN && event->name == NULL) complain(counts, "a wait for nothing");
  if (event->peer != CORACLE_NOBODY && event->peer >= counts->rank->size) complain(counts, "a peer that there is not");
}

static void end(void* self) {
  struct counts* const counts = self;
  static const int kinds[] = {CORACLE_RANK_BEGIN,      CORACLE_SPAN_BEGIN, CORACLE_WAIT_BEGIN,
                              CORACLE_OPERATION_BEGIN, CORACLE_SEND_BEGIN, CORACLE_RECEIVE_BEGIN,
                              CORACLE_COLLECTIVE_BEGIN};
  const uint64_t last_ns = counts->rank->nanoseconds(counts->rank, counts->last_ticks);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
    if (counts->of_kind[kinds[i]] != counts->of_kind[kinds[i] + 1]) {
      char text[64];
      snprintf(text, sizeof text, "%llu begins and %llu ends of kind %d", (unsigned long long)counts->of_kind[kinds[i]],
               (unsigned long long)counts->of_kind[kinds[i] + 1], kinds[i]);
      complain(counts, text);
    }
  if (last_ns < counts->first_ns) complain(counts, "nanoseconds go back");
  if (!counts->has_ended) complain(counts, "it has not ended");
  fprintf(stderr,
          "counting tool: rank %u of %u on node %u of %u: sends %llu, receives %llu, collectives %llu, spans %llu\n",
          counts->rank->rank, counts->rank->size, counts->rank->node, counts->rank->nodes,
          (unsigned long long)counts->of_kind[CORACLE_SEND_BEGIN],
          (unsigned long long)counts->of_kind[CORACLE_RECEIVE_BEGIN],
          (unsigned long long)counts->of_kind[CORACLE_COLLECTIVE_BEGIN],
          (unsigned long long)counts->of_kind[CORACLE_SPAN_BEGIN]);
  free(counts);
}

int coracle_tool_open(const struct coracle_rank_facts* rank, struct coracle_tool* tool) {
  const char* const mood = getenv("COUNTING_TOOL");
  struct counts* const counts = calloc(1, sizeof *counts);
  if (counts == NULL) return 1;
  counts->rank = rank;
  if (mood != NULL && strcmp(mood, "refuse") == 0) {
    free(counts);
    return 3;
  }
  tool->version = mood != NULL && strcmp(mood, "old") == 0 ? 0 : CORACLE_TOOL_VERSION;
  tool->self = counts;
  tool->event = mood != NULL && strcmp(mood, "mute") == 0 ? NULL : count;
  tool->close = end;
  return 0;
}
