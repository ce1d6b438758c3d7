/* What the programs of apps/halo have in common: a plate that is cut into tiles, one for each process, and a step of
   the heat equation. In C, without a word of MPI. The result does not depend on the cut, to the last bit. */
#ifndef CORACLE_APPS_HALO_HEAT_H
#define CORACLE_APPS_HALO_HEAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { kRows = 96, kColumns = 160, kSteps = 60 };
enum { kUp, kDown, kLeft, kRight, kSides };

/* One process's part: height x width cells, with a rim of one cell around: the halo, which neighbours fill. */
typedef struct {
  int top, left; /* of the first cell in the plate */
  int height, width;
} Tile;

/* Part number `index` of `parts` of a length: where it begins; number `parts` gives the end. */
static inline int part_begin(int length, int parts, int index) {
  return (int)((long)length * index / parts);
}

/* The tile in row `row` and column `column` of a grid of rows x columns tiles. */
static inline Tile tile_at(int rows, int columns, int row, int column) {
  Tile tile;
  tile.top = part_begin(kRows, rows, row);
  tile.left = part_begin(kColumns, columns, column);
  tile.height = part_begin(kRows, rows, row + 1) - tile.top;
  tile.width = part_begin(kColumns, columns, column + 1) - tile.left;
  return tile;
}

/* From a row to the next, and of all cells, rim included. */
static inline size_t row_pitch(const Tile* tile) {
  return (size_t)tile->width + 2;
}
static inline size_t cell_count(const Tile* tile) {
  return ((size_t)tile->height + 2) * row_pitch(tile);
}
/* Where a cell lies; rows and columns from 0, those of the rim -1, height and width. */
static inline size_t cell(const Tile* tile, int row, int column) {
  return (size_t)(row + 1) * row_pitch(tile) + (size_t)(column + 1);
}
/* The first cell along a side of the tile, and the first of the rim behind it. */
static inline size_t edge(const Tile* tile, int side) {
  return cell(tile, side == kDown ? tile->height - 1 : 0, side == kRight ? tile->width - 1 : 0);
}
static inline size_t halo(const Tile* tile, int side) {
  return cell(tile,
              side == kUp     ? -1
              : side == kDown ? tile->height
                              : 0,
              side == kLeft    ? -1
              : side == kRight ? tile->width
                               : 0);
}
/* The side at which a neighbour sees this tile. */
static inline int opposite(int side) {
  return side ^ 1;
}

/* Of cells that are all 0, a stroke across the plate becomes hot. The rim is left alone: a neighbour may have filled it
   already. */
static inline void heat_up(const Tile* tile, double* cells) {
  for (int row = 0; row < tile->height; ++row)
    for (int column = 0; column < tile->width; ++column)
      if ((tile->top + row) * 2 == tile->left + column) cells[cell(tile, row, column)] = 100;
}

/* What was `from` becomes `to`: a fifth of each difference to the four neighbours flows. The rim of `from` is read. */
static inline void step(const Tile* tile, const double* from, double* to) {
  const size_t pitch = row_pitch(tile);
  for (int row = 0; row < tile->height; ++row) {
    for (int column = 0; column < tile->width; ++column) {
      const size_t at = cell(tile, row, column);
      to[at] = (from[at] + from[at - pitch] + from[at + pitch] + from[at - 1] + from[at + 1]) / 5;
    }
  }
}

/* Of all bits of the tile's cells, and their places. Sums of tiles are the plate's. */
static inline uint64_t digest(const Tile* tile, const double* cells) {
  uint64_t sum = 0;
  for (int row = 0; row < tile->height; ++row) {
    for (int column = 0; column < tile->width; ++column) {
      uint64_t bits;
      memcpy(&bits, &cells[cell(tile, row, column)], sizeof bits);
      sum += bits * (uint64_t)(2 * ((tile->top + row) * kColumns + tile->left + column) + 1);
    }
  }
  return sum;
}

#endif
