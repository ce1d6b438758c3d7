/* What the tests of collectives share: the three forms of a call, and buffers of several datatypes. */
#pragma once

#include "check.h"

#include <mpi-ext.h>
#include <string.h>

enum Form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
static int form;

/* CALL(Gather, gather, ...): MPI_Gather, MPI_Igather or MPIX_Gather_init with the same arguments. */
#define CALL(Name, name, ...)                                                                          \
  do {                                                                                                 \
    MPI_Request request_ = MPI_REQUEST_NULL;                                                           \
    if (form == BLOCKING) {                                                                            \
      REQUIRE(MPI_##Name(__VA_ARGS__) == MPI_SUCCESS, "blocking");                                     \
    } else if (form == NONBLOCKING) {                                                                  \
      REQUIRE(MPI_I##name(__VA_ARGS__, &request_) == MPI_SUCCESS, "nonblocking");                      \
      REQUIRE(MPI_Wait(&request_, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");                          \
    } else {                                                                                           \
      REQUIRE(MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_) == MPI_SUCCESS, "persistent"); \
      REQUIRE(MPI_Start(&request_) == MPI_SUCCESS, "start");                                           \
      REQUIRE(MPI_Wait(&request_, MPI_STATUS_IGNORE) == MPI_SUCCESS, "wait");                          \
      MPI_Request_free(&request_);                                                                     \
    }                                                                                                  \
  } while (0)

/* An element is two ints; they lie in different ways. */
enum Kind { PLAIN, PAIRED, GAPS, LOW, KINDS };
static MPI_Datatype kind_types[KINDS];

static inline void make_kinds(void) {
  int one[2] = {1, 1};
  int in_gaps[2] = {0, 2};
  int around[2] = {-1, 1};
  MPI_Datatype raw;
  (void)one;
  kind_types[PLAIN] = MPI_INT;
  MPI_Type_contiguous(2, MPI_INT, &kind_types[PAIRED]);
  MPI_Type_indexed(2, one, in_gaps, MPI_INT, &raw);
  MPI_Type_create_resized(raw, 0, 16, &kind_types[GAPS]);
  MPI_Type_free(&raw);
  MPI_Type_indexed(2, one, around, MPI_INT, &raw);
  MPI_Type_create_resized(raw, -8, 16, &kind_types[LOW]);
  MPI_Type_free(&raw);
  for (int kind = PAIRED; kind < KINDS; ++kind) MPI_Type_commit(&kind_types[kind]);
}

static inline void free_kinds(void) {
  for (int kind = PAIRED; kind < KINDS; ++kind) MPI_Type_free(&kind_types[kind]);
}

/* MPI's count, or displacement, of so many elements. */
static inline int count_in(int kind, int elements) {
  return kind == PLAIN ? 2 * elements : elements;
}
static inline int extent_in(int kind) {
  return kind == PLAIN || kind == PAIRED ? 8 : 16;
}

typedef struct {
  int kind;
  int elements;
  size_t bytes;
  char* memory;
  char* at; /* what MPI is given */
} Buffer;

enum { MARGIN = 64, UNTOUCHED = 0x55 };

static inline Buffer make_buffer(int kind, int elements) {
  Buffer made;
  made.kind = kind;
  made.elements = elements;
  made.bytes = (size_t)elements * (size_t)extent_in(kind) + 2 * MARGIN;
  made.memory = allocate(made.bytes);
  made.at = made.memory + MARGIN;
  memset(made.memory, UNTOUCHED, made.bytes);
  return made;
}

static inline Buffer copy_buffer(const Buffer* from) {
  Buffer made = make_buffer(from->kind, from->elements);
  memcpy(made.memory, from->memory, made.bytes);
  return made;
}

static inline int* place_of(const Buffer* buffer, int element, int half) {
  char* begin = buffer->at + (ptrdiff_t)element * extent_in(buffer->kind);
  switch (buffer->kind) {
    case GAPS:
      return (int*)(void*)(begin + (half ? 8 : 0));
    case LOW:
      return (int*)(void*)(begin + (half ? 4 : -4));
    default:
      return (int*)(void*)(begin + (half ? 4 : 0));
  }
}

/* Elements `first` ... of what (a, b) stands for, at element `place`. */
static inline void put_elements(Buffer* buffer, int place, int count, int a, int b) {
  for (int i = 0; i < count; ++i)
    for (int half = 0; half < 2; ++half) *place_of(buffer, place + i, half) = made_up(a, b, 2 * i + half);
}

/* All bytes must be as expected, those in gaps too. Frees both. */
static inline void compare_buffers(Buffer* found, Buffer* expected, const char* what) {
  ++checks_made;
  if (memcmp(found->memory, expected->memory, found->bytes) != 0) {
    size_t i = 0;
    while (found->memory[i] == expected->memory[i]) ++i;
    fail_check(__FILE__, __LINE__, "the result is right", "%s: form %d, kind %d, %d elements: byte %ld is wrong", what,
               form, found->kind, found->elements, (long)i - MARGIN);
  }
  free(found->memory);
  free(expected->memory);
}

static inline void free_buffer(Buffer* buffer) {
  free(buffer->memory);
}

/* Elements that `from` gives `to` where they differ; some give nothing. */
static inline int elements_between(int n, int from, int to) {
  return (from * 5 + to * 3 + n) % 3 * (n / 2) + (n > 0 && to % 2 == 0);
}

/* Blocks from the last to the first, with a gap before each. */
static inline int place_blocks(const int* elements, int number, int* places) {
  int end = 0;
  for (int i = number - 1; i >= 0; --i) {
    places[i] = end + 1 + i % 2;
    end = places[i] + elements[i];
  }
  return end;
}

static inline void scale(int kind, const int* elements, int* counts, int number) {
  for (int i = 0; i < number; ++i) counts[i] = count_in(kind, elements[i]);
}
