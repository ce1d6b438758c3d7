// The 16 patterns of DDTBench as datatypes of MPI and as loops by hand: the twins of those of `coracle bench ddt`, byte
// by byte. For tests/peers/ddt.c.
#pragma once

#include <mpi.h>
#include <stddef.h>

enum { kGridsMax = 9, kMembersMax = 6, kTextMax = 32 };

/// Rows of neighbouring elements out of a grid, all counted in elements: three loops, of which the innermost has a step
/// of 1.
struct grid {
  size_t first;
  size_t counts[3];
  size_t steps[2];
};

/// Elements of `width` words each, picked out of an array that begins at word `first`. Without indices: received in a
/// row.
struct picked {
  size_t first;
  size_t width;
  size_t count;
  const int* indices;
};

/// What the loops by hand go over on one side.
struct parts {
  int grids;
  struct grid grid[kGridsMax];
  int lists;
  struct picked list[kMembersMax];
};

/// One pattern at one size. Each rank has one buffer of `buffer_bytes`, from which it sends one `send` and into which
/// it receives one `receive`.
struct pattern {
  const char* name;
  char size[kTextMax];
  size_t buffer_bytes;
  size_t bytes;       // packed
  size_t word_bytes;  // of an element in the loops by hand: 4 or 8
  MPI_Datatype send, receive;
  struct parts send_parts, receive_parts;
  int* indices[2];  // owned
};

/// For each of the sizes of the patterns called `name`, in order; gives how many there are. A pattern is the visitor's
/// until it returns.
int for_each_size(const char* name, void (*visit)(const struct pattern* pattern));

/// `packed` has pattern->bytes.
void pack_by_hand(const struct pattern* pattern, const void* buffer, void* packed);
void unpack_by_hand(const struct pattern* pattern, const void* packed, void* buffer);
