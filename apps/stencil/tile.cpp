// Cuts the plate, heats the letter, and does the sums.
#include "apps/stencil/tile.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/core/assert.hpp"

namespace coracle::stencil {
namespace {

// A ring with a gap at its right: the letter C, in the middle of a plate of size 1 x 1.
bool is_in_letter(double x, double y) noexcept {
  const double from_centre_x = x - 0.5;
  const double from_centre_y = y - 0.5;
  const double radius = std::hypot(from_centre_x, from_centre_y);
  const bool is_in_gap = from_centre_x > 0 && std::abs(from_centre_y) < 0.6 * from_centre_x;
  return radius > 0.24 && radius < 0.30 && !is_in_gap;
}

std::size_t share_begin(std::size_t size, std::uint32_t index, std::uint32_t parts) noexcept {
  return size * index / parts;
}

}  // namespace

Grid Grid::for_ranks(std::uint32_t ranks) noexcept {
  auto rows = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(ranks)));
  while (rows > 1 && ranks % rows != 0) --rows;
  rows = std::max(rows, 1U);
  return {ranks / rows, rows};
}

Tile::Tile(std::size_t size, Grid grid, std::uint32_t rank) {
  CORACLE_ASSERT(grid.columns <= size && grid.rows <= size, "{} x {} tiles of {} cells", grid.columns, grid.rows, size);
  const std::uint32_t column = rank % grid.columns;
  const std::uint32_t row = rank / grid.columns;
  left_ = share_begin(size, column, grid.columns);
  top_ = share_begin(size, row, grid.rows);
  width_ = share_begin(size, column + 1, grid.columns) - left_;
  height_ = share_begin(size, row + 1, grid.rows) - top_;
  if (row > 0) neighbours_[kTop] = rank - grid.columns;
  if (row + 1 < grid.rows) neighbours_[kBottom] = rank + grid.columns;
  if (column > 0) neighbours_[kLeft] = rank - 1;
  if (column + 1 < grid.columns) neighbours_[kRight] = rank + 1;
  now_.resize((width_ + 2) * (height_ + 2));
  note_heated(size);
  for (const std::size_t cell : heated_) now_[cell] = 1;
  next_ = now_;
}

void Tile::note_heated(std::size_t size) {
  const auto middle = [size](std::size_t cell) {
    return (static_cast<double>(cell) + 0.5) / static_cast<double>(size);
  };
  for (std::size_t y = 0; y < height_; ++y) {
    for (std::size_t x = 0; x < width_; ++x) {
      if (is_in_letter(middle(left_ + x), middle(top_ + y))) heated_.push_back(at(x, y));
    }
  }
}

std::span<const float> Tile::copy_edge(Side side, std::span<float> buffer) const {
  const bool is_row = side == kTop || side == kBottom;
  const std::size_t length = is_row ? width_ : height_;
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t x = is_row ? i : side == kLeft ? 0 : width_ - 1;
    const std::size_t y = !is_row ? i : side == kTop ? 0 : height_ - 1;
    buffer[i] = now_[at(x, y)];
  }
  return buffer.first(length);
}

void Tile::set_halo(Side side, const float* edge) {
  const std::size_t stride = width_ + 2;
  switch (side) {
    case kTop:
      std::copy_n(edge, width_, &now_[1]);
      break;
    case kBottom:
      std::copy_n(edge, width_, &now_[at(0, height_)]);
      break;
    case kLeft:
    case kRight:
      for (std::size_t y = 0; y < height_; ++y) now_[(y + 1) * stride + (side == kLeft ? 0 : stride - 1)] = edge[y];
  }
}

void Tile::relax_inside() {
  if (width_ > 2 && height_ > 2) relax(1, width_ - 1, 1, height_ - 1);
}

void Tile::relax_rim() {
  relax(0, width_, 0, 1);
  relax(0, width_, height_ - 1, height_);
  relax(0, 1, 0, height_);
  relax(width_ - 1, width_, 0, height_);
  for (const std::size_t cell : heated_) next_[cell] = 1;
  now_.swap(next_);
}

void Tile::relax(std::size_t x_begin, std::size_t x_end, std::size_t y_begin, std::size_t y_end) {
  constexpr float kFlow = 0.2F;
  const std::size_t stride = width_ + 2;
  for (std::size_t y = y_begin; y < y_end; ++y) {
    const float* const above = &now_[at(0, y) - stride];
    const float* const here = &now_[at(0, y)];
    const float* const below = &now_[at(0, y) + stride];
    const float* const before = &now_[at(0, y) - 1];
    float* const there = &next_[at(0, y)];
    for (std::size_t x = x_begin; x < x_end; ++x) {
      const float around = (above[x] + below[x]) + (before[x] + here[x + 1]);
      there[x] = here[x] + kFlow * (around - 4 * here[x]);
    }
  }
}

}  // namespace coracle::stencil
