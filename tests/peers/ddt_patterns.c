// Datatypes and loops of the patterns; shapes, element order and index lists as in
// apps/bench/ddt/ddt_patterns.cpp.
#include "ddt_patterns.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*visitor)(const struct pattern* pattern);

// --- loops by hand: one copy of each for elements of 4 and of 8 bytes, as a compiler would see them in a program ---

#define DEFINE_LOOPS(word)                                                                                       \
  static word* pack_grid_##word(const struct grid* grid, const word* from, word* out) {                          \
    from += grid->first;                                                                                         \
    for (size_t i = 0; i < grid->counts[0]; ++i)                                                                 \
      for (size_t j = 0; j < grid->counts[1]; ++j)                                                               \
        for (size_t k = 0; k < grid->counts[2]; ++k) *out++ = from[i * grid->steps[0] + j * grid->steps[1] + k]; \
    return out;                                                                                                  \
  }                                                                                                              \
  static const word* unpack_grid_##word(const struct grid* grid, const word* in, word* to) {                     \
    to += grid->first;                                                                                           \
    for (size_t i = 0; i < grid->counts[0]; ++i)                                                                 \
      for (size_t j = 0; j < grid->counts[1]; ++j)                                                               \
        for (size_t k = 0; k < grid->counts[2]; ++k) to[i * grid->steps[0] + j * grid->steps[1] + k] = *in++;    \
    return in;                                                                                                   \
  }                                                                                                              \
  static word* pack_list_##word(const struct picked* list, const word* from, word* out) {                        \
    from += list->first;                                                                                         \
    if (list->indices == NULL) {                                                                                 \
      for (size_t i = 0; i < list->count * list->width; ++i) *out++ = from[i];                                   \
    } else if (list->width == 1) {                                                                               \
      for (size_t i = 0; i < list->count; ++i) *out++ = from[list->indices[i]];                                  \
    } else {                                                                                                     \
      for (size_t i = 0; i < list->count; ++i) {                                                                 \
        *out++ = from[3 * list->indices[i]];                                                                     \
        *out++ = from[3 * list->indices[i] + 1];                                                                 \
        *out++ = from[3 * list->indices[i] + 2];                                                                 \
      }                                                                                                          \
    }                                                                                                            \
    return out;                                                                                                  \
  }                                                                                                              \
  static const word* unpack_list_##word(const struct picked* list, const word* in, word* to) {                   \
    to += list->first;                                                                                           \
    if (list->indices == NULL) {                                                                                 \
      for (size_t i = 0; i < list->count * list->width; ++i) to[i] = *in++;                                      \
    } else if (list->width == 1) {                                                                               \
      for (size_t i = 0; i < list->count; ++i) to[list->indices[i]] = *in++;                                     \
    } else {                                                                                                     \
      for (size_t i = 0; i < list->count; ++i) {                                                                 \
        to[3 * list->indices[i]] = *in++;                                                                        \
        to[3 * list->indices[i] + 1] = *in++;                                                                    \
        to[3 * list->indices[i] + 2] = *in++;                                                                    \
      }                                                                                                          \
    }                                                                                                            \
    return in;                                                                                                   \
  }                                                                                                              \
  static void pack_##word(const struct parts* parts, const void* buffer, void* packed) {                         \
    word* out = packed;                                                                                          \
    for (int i = 0; i < parts->grids; ++i) out = pack_grid_##word(&parts->grid[i], buffer, out);                 \
    for (int i = 0; i < parts->lists; ++i) out = pack_list_##word(&parts->list[i], buffer, out);                 \
  }                                                                                                              \
  static void unpack_##word(const struct parts* parts, const void* packed, void* buffer) {                       \
    const word* in = packed;                                                                                     \
    for (int i = 0; i < parts->grids; ++i) in = unpack_grid_##word(&parts->grid[i], in, buffer);                 \
    for (int i = 0; i < parts->lists; ++i) in = unpack_list_##word(&parts->list[i], in, buffer);                 \
  }

DEFINE_LOOPS(float)
DEFINE_LOOPS(double)

void pack_by_hand(const struct pattern* pattern, const void* buffer, void* packed) {
  if (pattern->word_bytes == sizeof(float))
    pack_float(&pattern->send_parts, buffer, packed);
  else
    pack_double(&pattern->send_parts, buffer, packed);
}

void unpack_by_hand(const struct pattern* pattern, const void* packed, void* buffer) {
  if (pattern->word_bytes == sizeof(float))
    unpack_float(&pattern->receive_parts, packed, buffer);
  else
    unpack_double(&pattern->receive_parts, packed, buffer);
}

// --- datatypes: each of these frees what it is made of ---

static MPI_Datatype freeing(MPI_Datatype made, MPI_Datatype* of) {
  int integers, addresses, types, combiner;
  MPI_Type_get_envelope(*of, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(of);
  return made;
}

static MPI_Datatype contiguous(size_t count, MPI_Datatype of) {
  MPI_Datatype made;
  MPI_Type_contiguous((int)count, of, &made);
  return freeing(made, &of);
}

static MPI_Datatype vector(size_t count, size_t block, size_t stride, MPI_Datatype of) {
  MPI_Datatype made;
  MPI_Type_vector((int)count, (int)block, (int)stride, of, &made);
  return freeing(made, &of);
}

static MPI_Datatype hvector(size_t count, size_t block, size_t stride_bytes, MPI_Datatype of) {
  MPI_Datatype made;
  MPI_Type_create_hvector((int)count, (int)block, (MPI_Aint)stride_bytes, of, &made);
  return freeing(made, &of);
}

static MPI_Datatype resized(size_t extent, MPI_Datatype of) {
  MPI_Datatype made;
  MPI_Type_create_resized(of, 0, (MPI_Aint)extent, &made);
  return freeing(made, &of);
}

static MPI_Datatype indexed_block(size_t count, const int* indices, MPI_Datatype of) {
  MPI_Datatype made;
  MPI_Type_create_indexed_block((int)count, 1, indices, of, &made);
  return freeing(made, &of);
}

static MPI_Datatype subarray(int dimensions, const int* sizes, const int* subsizes, const int* starts,
                             MPI_Datatype of) {
  MPI_Datatype made;
  MPI_Type_create_subarray(dimensions, sizes, subsizes, starts, MPI_ORDER_FORTRAN, of, &made);
  return freeing(made, &of);
}

static MPI_Datatype structure(int count, const int* lengths, const MPI_Aint* places, MPI_Datatype* fields) {
  MPI_Datatype made;
  MPI_Type_create_struct(count, lengths, places, fields, &made);
  for (int i = 0; i < count; ++i) freeing(made, &fields[i]);
  return made;
}

/// Commits the datatypes, hands the pattern out, and frees what it holds.
static void show(struct pattern* pattern, visitor visit) {
  int bytes = 0;
  MPI_Type_size(pattern->send, &bytes);
  pattern->bytes = (size_t)bytes;
  MPI_Type_commit(&pattern->send);
  MPI_Type_commit(&pattern->receive);
  visit(pattern);
  MPI_Type_free(&pattern->send);
  MPI_Type_free(&pattern->receive);
  free(pattern->indices[0]);
  free(pattern->indices[1]);
}

/// A pattern of grids whose sides are alike, but for its datatypes.
static struct pattern alike(const char* name, size_t word_bytes, size_t buffer_bytes, const struct grid* grids,
                            int count) {
  struct pattern pattern = {.name = name, .buffer_bytes = buffer_bytes, .word_bytes = word_bytes};
  pattern.send_parts.grids = count;
  memcpy(pattern.send_parts.grid, grids, (size_t)count * sizeof *grids);
  pattern.receive_parts = pattern.send_parts;
  return pattern;
}

static void show_alike(struct pattern* pattern, MPI_Datatype type, visitor visit) {
  pattern->send = type;
  MPI_Type_dup(type, &pattern->receive);
  show(pattern, visit);
}

// --- WRF: arrays of floats (i, k, j), i the fastest ---

enum { kHalo = 3, kWrfStart = 4, kWrfGrids = 9 };

struct wrf {
  size_t i, k, j, slab_i, slab_j;
};

static void wrf_grids(const struct wrf* wrf, struct grid* grids) {
  const size_t flat = wrf->i * wrf->j, cube = flat * wrf->k;
  size_t array = 0;
  for (int n = 0; n < kWrfGrids; ++n) {
    const int is_flat = n < 4, is_cube = n < 7;
    const size_t second_half = is_cube ? 0 : cube;
    if (is_flat)
      grids[n] = (struct grid){array + kWrfStart * wrf->i + kWrfStart, {1, wrf->slab_j, wrf->slab_i}, {0, wrf->i}};
    else
      grids[n] = (struct grid){array + second_half + kWrfStart * wrf->i * wrf->k + kWrfStart,
                               {wrf->slab_j, wrf->k, wrf->slab_i},
                               {wrf->i * wrf->k, wrf->i}};
    array += is_flat ? flat : is_cube ? cube : 2 * cube;
  }
}

static MPI_Datatype wrf_vectors(const struct grid* grids) {
  int lengths[kWrfGrids];
  MPI_Aint places[kWrfGrids];
  MPI_Datatype fields[kWrfGrids];
  for (int n = 0; n < kWrfGrids; ++n) {
    const struct grid* grid = &grids[n];
    lengths[n] = 1;
    places[n] = (MPI_Aint)(4 * grid->first);
    fields[n] = hvector(grid->counts[0], 1, 4 * grid->steps[0],
                        vector(grid->counts[1], grid->counts[2], grid->steps[1], MPI_FLOAT));
  }
  return structure(kWrfGrids, lengths, places, fields);
}

static MPI_Datatype wrf_subarrays(const struct wrf* wrf) {
  const int i = (int)wrf->i, k = (int)wrf->k, j = (int)wrf->j, width = (int)wrf->slab_i, depth = (int)wrf->slab_j;
  const size_t flat = wrf->i * wrf->j, cube = flat * wrf->k;
  MPI_Datatype fields[] = {
      subarray(2, (int[]){i, j}, (int[]){width, depth}, (int[]){kWrfStart, kWrfStart}, MPI_FLOAT),
      subarray(3, (int[]){i, k, j}, (int[]){width, k, depth}, (int[]){kWrfStart, 0, kWrfStart}, MPI_FLOAT),
      subarray(4, (int[]){i, k, j, 2}, (int[]){width, k, depth, 1}, (int[]){kWrfStart, 0, kWrfStart, 1}, MPI_FLOAT)};
  const MPI_Aint places[] = {0, (MPI_Aint)(16 * flat), (MPI_Aint)(16 * flat + 12 * cube)};
  return structure(3, (int[]){4, 3, 2}, places, fields);
}

static void show_wrf(const char* name, const struct wrf* wrf, int by_subarrays, visitor visit) {
  const size_t flat = wrf->i * wrf->j, cube = flat * wrf->k;
  struct grid grids[kWrfGrids];
  wrf_grids(wrf, grids);
  struct pattern pattern = alike(name, sizeof(float), 4 * (4 * flat + 3 * cube + 4 * cube), grids, kWrfGrids);
  snprintf(pattern.size, kTextMax, "%zux%zux%zu", wrf->slab_i, wrf->k, wrf->slab_j);
  show_alike(&pattern, by_subarrays ? wrf_subarrays(wrf) : wrf_vectors(grids), visit);
}

static int wrf_x(const char* name, visitor visit) {
  static const struct wrf sizes[] = {{32, 65, 52, kHalo, 44}, {24, 65, 34, kHalo, 26}, {19, 65, 24, kHalo, 16}};
  for (int i = 0; i < 3; ++i) show_wrf(name, &sizes[i], strcmp(name, "WRF_x_sa") == 0, visit);
  return 3;
}

static int wrf_y(const char* name, visitor visit) {
  static const struct wrf sizes[] = {{32, 65, 52, 23, kHalo},
                                     {27, 65, 41, 19, kHalo},
                                     {24, 65, 34, 16, kHalo},
                                     {22, 65, 30, 14, kHalo},
                                     {19, 65, 24, 11, kHalo}};
  for (int i = 0; i < 5; ++i) show_wrf(name, &sizes[i], strcmp(name, "WRF_y_sa") == 0, visit);
  return 5;
}

// --- MILC: a face of an even-odd lattice of su3 vectors, 6 floats each ---

static int milc(const char* name, visitor visit) {
  static const size_t sizes[][4] = {{16, 16, 16, 16}, {8, 16, 16, 16}, {8, 8, 8, 16}, {8, 8, 8, 8}};
  for (int i = 0; i < 4; ++i) {
    const size_t l2 = sizes[i][0], l3 = sizes[i][1], l4 = sizes[i][2], l5 = sizes[i][3];
    const size_t block = l2 * l3 / 2, stride = l2 * l3 * l4 / 2, lattice = l2 * l3 * l4 * l5;
    const struct grid grid = {0, {2, l5, 6 * block}, {6 * lattice / 2, 6 * stride}};
    struct pattern pattern = alike(name, sizeof(float), 24 * lattice, &grid, 1);
    snprintf(pattern.size, kTextMax, "%zux%zux%zux%zu", l2, l3, l4, l5);
    const MPI_Datatype half = vector(l5, block, stride, contiguous(6, MPI_FLOAT));
    show_alike(&pattern, hvector(2, 1, 24 * lattice / 2, half), visit);
  }
  return 4;
}

// --- NAS LU and MG ---

static int nas_lu(const char* name, visitor visit) {
  static const size_t sizes[] = {12, 33, 64, 102, 162, 408, 1020};
  const int is_x = strcmp(name, "NAS_LU_x") == 0;
  for (int i = 0; i < 7; ++i) {
    const size_t n = sizes[i];
    const struct grid x = {0, {1, 1, 5 * n}, {0, 0}};
    const struct grid y = {0, {1, n, 5}, {0, 5 * (n + 2)}};
    struct pattern pattern =
        alike(name, sizeof(double), is_x ? 40 * (n + 2) : 40 * (n + 2) * (n + 2), is_x ? &x : &y, 1);
    snprintf(pattern.size, kTextMax, "%zu", n);
    const MPI_Datatype five = contiguous(5, MPI_DOUBLE);
    show_alike(&pattern, is_x ? contiguous(n, five) : vector(n, 1, n + 2, five), visit);
  }
  return 7;
}

/// The three faces of a grid of doubles without their edges.
static int nas_mg(const char* name, visitor visit) {
  static const size_t sizes[][3] = {{34, 18, 18}, {130, 66, 66}, {258, 130, 130}, {514, 258, 258}};
  for (int i = 0; i < 4; ++i) {
    const size_t d1 = sizes[i][0], d2 = sizes[i][1], d3 = sizes[i][2], first = d1 * d2 + d1 + 1;
    const char face = name[strlen(name) - 1];
    struct grid grid = {first, {1, d3 - 2, d1 - 2}, {0, d1 * d2}};  // y
    MPI_Datatype type;
    if (face == 'x') {
      grid = (struct grid){first, {d3 - 2, d2 - 2, 1}, {d1 * d2, d1}};
      type = hvector(d3 - 2, 1, 8 * d1 * d2, vector(d2 - 2, 1, d1, MPI_DOUBLE));
    } else if (face == 'y') {
      type = vector(d3 - 2, d1 - 2, d1 * d2, MPI_DOUBLE);
    } else {
      grid = (struct grid){first, {1, d2 - 2, d1 - 2}, {0, d1}};
      type = vector(d2 - 2, d1 - 2, d1, MPI_DOUBLE);
    }
    struct pattern pattern = alike(name, sizeof(double), 8 * d1 * d2 * d3, &grid, 1);
    snprintf(pattern.size, kTextMax, "%zux%zux%zu", d1, d2, d3);
    const MPI_Aint place = (MPI_Aint)(8 * first);
    show_alike(&pattern, structure(1, (int[]){1}, &place, &type), visit);
  }
  return 4;
}

// --- the transposition of a 2-D FFT by two ranks: columns on one side, rows on the other ---

static int fft2(const char* name, visitor visit) {
  static const size_t sizes[] = {256, 512, 768, 1024, 1536};
  for (int i = 0; i < 5; ++i) {
    const size_t n = sizes[i], share = n / 2;
    struct pattern pattern = {.name = name, .buffer_bytes = 16 * n * share, .word_bytes = sizeof(double)};
    snprintf(pattern.size, kTextMax, "%zu", n);
    pattern.send_parts.grids = 1;
    // Columns, and in them elements n apart: of two doubles each.
    pattern.send_parts.grid[0] = (struct grid){0, {share, share, 2}, {2, 2 * n}};
    pattern.receive_parts.grids = 1;
    pattern.receive_parts.grid[0] = (struct grid){0, {1, share, 2 * share}, {0, 2 * n}};
    pattern.send = contiguous(share, resized(16, vector(share, 1, n, MPI_C_DOUBLE_COMPLEX)));
    pattern.receive = resized(16 * share, vector(share, share, n, MPI_C_DOUBLE_COMPLEX));
    show(&pattern, visit);
  }
  return 5;
}

// --- elements picked by index ---

/// The 64-bit Mersenne Twister (Nishimura, Matsumoto), as std::mt19937_64 has it.
struct twister {
  uint64_t state[312];
  int next;
};

static void seed_twister(struct twister* twister, uint64_t seed) {
  twister->state[0] = seed;
  for (int i = 1; i < 312; ++i) {
    const uint64_t before = twister->state[i - 1];
    twister->state[i] = 6364136223846793005ULL * (before ^ (before >> 62)) + (uint64_t)i;
  }
  twister->next = 312;
}

static uint64_t random_word(struct twister* twister) {
  if (twister->next == 312) {
    uint64_t* state = twister->state;
    for (int i = 0; i < 312; ++i) {
      const uint64_t word = (state[i] & 0xFFFFFFFF80000000ULL) | (state[(i + 1) % 312] & 0x7FFFFFFFULL);
      state[i] = state[(i + 156) % 312] ^ (word >> 1) ^ ((word & 1) != 0 ? 0xB5026F5AA96619E9ULL : 0);
    }
    twister->next = 0;
  }
  uint64_t word = twister->state[twister->next++];
  word ^= (word >> 29) & 0x5555555555555555ULL;
  word ^= (word << 17) & 0x71D67FFFEDA60000ULL;
  word ^= (word << 37) & 0xFFF7EEE000000000ULL;
  return word ^ (word >> 43);
}

/// `count` of the numbers below `total`, in random order; the caller frees it.
static int* shuffled(size_t count, size_t total, uint64_t seed) {
  struct twister twister;
  seed_twister(&twister, seed);
  int* all = malloc(total * sizeof *all);
  if (all == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (size_t i = 0; i < total; ++i) all[i] = (int)i;
  for (size_t i = 0; i < count; ++i) {
    const size_t other = i + random_word(&twister) % (total - i);
    const int kept = all[i];
    all[i] = all[other];
    all[other] = kept;
  }
  return all;
}

/// Positions of 3 doubles, and `members` arrays of one, of the atoms picked; received behind each array's own.
static void show_lammps(const char* name, size_t members, size_t count, size_t own, visitor visit) {
  const size_t room = own + count;
  struct pattern pattern = {.name = name, .buffer_bytes = 8 * (3 + members) * room, .word_bytes = sizeof(double)};
  snprintf(pattern.size, kTextMax, "%zuof%zu", count, own);
  pattern.indices[0] = shuffled(count, own, 1);
  const int fields = (int)members + 1;
  int sent[kMembersMax], received[kMembersMax];
  MPI_Aint from[kMembersMax], to[kMembersMax];
  MPI_Datatype picked[kMembersMax], rows[kMembersMax];
  pattern.send_parts.lists = pattern.receive_parts.lists = fields;
  for (int i = 0; i < fields; ++i) {
    const size_t width = i == 0 ? 3 : 1, array = i == 0 ? 0 : ((size_t)i + 2) * room;
    pattern.send_parts.list[i] = (struct picked){array, width, count, pattern.indices[0]};
    pattern.receive_parts.list[i] = (struct picked){array + width * own, width, count, NULL};
    sent[i] = 1;
    from[i] = (MPI_Aint)(8 * array);
    picked[i] = indexed_block(count, pattern.indices[0], i == 0 ? contiguous(3, MPI_DOUBLE) : MPI_DOUBLE);
    received[i] = (int)(width * count);
    to[i] = (MPI_Aint)(8 * (array + width * own));
    rows[i] = MPI_DOUBLE;
  }
  pattern.send = structure(fields, sent, from, picked);
  pattern.receive = structure(fields, received, to, rows);
  show(&pattern, visit);
}

static int lammps_full(const char* name, visitor visit) {
  static const size_t sizes[][2] = {{3062, 3534}, {2243, 2597}, {1662, 1907}};
  for (int i = 0; i < 3; ++i) show_lammps(name, 5, sizes[i][0], sizes[i][1], visit);
  return 3;
}

static int lammps_atomic(const char* name, visitor visit) {
  static const size_t sizes[][2] = {{243, 4084}, {145, 2157}, {114, 1217}};
  for (int i = 0; i < 3; ++i) show_lammps(name, 3, sizes[i][0], sizes[i][1], visit);
  return 3;
}

static int specfem_oc(const char* name, visitor visit) {
  static const size_t sizes[][2] = {{3225, 88881}, {1897, 38585}, {877, 12857}, {493, 3697}};
  for (int i = 0; i < 4; ++i) {
    const size_t count = sizes[i][0], total = sizes[i][1];
    struct pattern pattern = {.name = name, .buffer_bytes = 4 * total, .word_bytes = sizeof(float)};
    snprintf(pattern.size, kTextMax, "%zuof%zu", count, total);
    MPI_Datatype types[2];
    struct parts* sides[] = {&pattern.send_parts, &pattern.receive_parts};
    for (int side = 0; side < 2; ++side) {
      int* indices = pattern.indices[side] = shuffled(count, total, (uint64_t)side + 1);
      sides[side]->lists = 1;
      sides[side]->list[0] = (struct picked){0, 1, count, indices};
      types[side] = indexed_block(count, indices, MPI_FLOAT);
    }
    pattern.send = types[0];
    pattern.receive = types[1];
    show(&pattern, visit);
  }
  return 4;
}

/// Points of 3 floats of the crust and mantle, and of the inner core; one of 25 is picked.
static int specfem_cm(const char* name, visitor visit) {
  static const size_t sizes[][2] = {{11797, 3009}, {7125, 1729}, {3801, 801}, {1957, 245}};
  enum { kOf = 25 };
  for (int i = 0; i < 4; ++i) {
    const size_t mantle = sizes[i][0], core = sizes[i][1];
    struct pattern pattern = {.name = name, .buffer_bytes = 4 * 3 * kOf * (mantle + core), .word_bytes = sizeof(float)};
    snprintf(pattern.size, kTextMax, "%zu+%zu", mantle, core);
    MPI_Datatype types[2];
    struct parts* sides[] = {&pattern.send_parts, &pattern.receive_parts};
    for (int side = 0; side < 2; ++side) {
      int* of_mantle = shuffled(mantle, kOf * mantle, (uint64_t)side + 1);
      int* of_core = shuffled(core, kOf * core, (uint64_t)side + 1);
      int* all = pattern.indices[side] = malloc((mantle + core) * sizeof *all);
      if (all == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
      memcpy(all, of_mantle, mantle * sizeof *all);
      memcpy(all + mantle, of_core, core * sizeof *all);
      free(of_mantle);
      free(of_core);
      sides[side]->lists = 2;
      sides[side]->list[0] = (struct picked){0, 3, mantle, all};
      sides[side]->list[1] = (struct picked){3 * kOf * mantle, 3, core, all + mantle};
      MPI_Datatype fields[] = {indexed_block(mantle, all, contiguous(3, MPI_FLOAT)),
                               indexed_block(core, all + mantle, contiguous(3, MPI_FLOAT))};
      const MPI_Aint places[] = {0, (MPI_Aint)(4 * 3 * kOf * mantle)};
      types[side] = structure(2, (int[]){1, 1}, places, fields);
    }
    pattern.send = types[0];
    pattern.receive = types[1];
    show(&pattern, visit);
  }
  return 4;
}

static int specfem_mt(const char* name, visitor visit) {
  static const size_t sizes[] = {7600, 6400, 5600, 6200};
  for (int i = 0; i < 4; ++i) {
    const size_t count = sizes[i];
    struct pattern pattern = {.name = name, .buffer_bytes = 24 * count, .word_bytes = sizeof(float)};
    snprintf(pattern.size, kTextMax, "%zu", count);
    pattern.send_parts.grids = 1;
    pattern.send_parts.grid[0] = (struct grid){0, {1, count, 3}, {0, 6}};
    pattern.receive_parts.lists = 1;
    pattern.receive_parts.list[0] = (struct picked){0, 3, count, NULL};
    pattern.send = vector(count, 1, 2, contiguous(3, MPI_FLOAT));
    pattern.receive = contiguous(count, contiguous(3, MPI_FLOAT));
    show(&pattern, visit);
  }
  return 4;
}

int for_each_size(const char* name, visitor visit) {
  static const struct {
    const char* name;
    int (*show_all)(const char* name, visitor visit);
  } all[] = {{"WRF_x_vec", wrf_x},
             {"WRF_x_sa", wrf_x},
             {"WRF_y_vec", wrf_y},
             {"WRF_y_sa", wrf_y},
             {"MILC_su3_zd", milc},
             {"NAS_LU_x", nas_lu},
             {"NAS_LU_y", nas_lu},
             {"NAS_MG_x", nas_mg},
             {"NAS_MG_y", nas_mg},
             {"NAS_MG_z", nas_mg},
             {"FFT2", fft2},
             {"LAMMPS_full", lammps_full},
             {"SPECFEM3D_oc", specfem_oc},
             {"LAMMPS_atomic", lammps_atomic},
             {"SPECFEM3D_cm", specfem_cm},
             {"SPECFEM3D_mt", specfem_mt}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    if (strcmp(all[i].name, name) == 0) return all[i].show_all(name, visit);
  return 0;
}
