// One rank's part of the plate in `stencil`: a field of temperatures with a rim of halo cells around it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace coracle::stencil {

enum Side : std::uint32_t { kTop, kBottom, kLeft, kRight };
inline constexpr std::array kAllSides = {kTop, kBottom, kLeft, kRight};

/// The side at which a neighbour sees us.
constexpr Side opposite(Side side) noexcept {
  return static_cast<Side>(side ^ 1U);
}

/// How many tiles the plate is cut into, in each direction; rank = row * columns + column.
struct Grid {
  std::uint32_t columns;
  std::uint32_t rows;

  /// As square as `ranks` can be arranged, so that edges are short.
  static Grid for_ranks(std::uint32_t ranks) noexcept;

  /// Cells in the longest edge of any tile of a plate of size x size cells.
  std::size_t longest_edge(std::size_t size) const noexcept {
    return (size + std::min(rows, columns) - 1) / std::min(rows, columns);
  }
};

/// A plate of size x size cells, cold around, in which a letter C is kept hot (1). Steps of explicit Euler: a fifth of
/// each difference to the four neighbours flows. The result does not depend on the grid, to the last bit.
class Tile {
 public:
  /// The tile of `rank`. The grid has at most `size` columns and rows.
  Tile(std::size_t size, Grid grid, std::uint32_t rank);

  std::size_t left() const noexcept { return left_; }
  std::size_t top() const noexcept { return top_; }
  std::size_t width() const noexcept { return width_; }
  std::size_t height() const noexcept { return height_; }

  /// The rank behind that side; none at the plate's border.
  std::optional<std::uint32_t> neighbour(Side side) const noexcept { return neighbours_[side]; }

  /// Copies the cells along a side to `buffer`; gives the part that was filled.
  std::span<const float> copy_edge(Side side, std::span<float> buffer) const;
  /// Takes the neighbour's edge.
  void set_halo(Side side, const float* edge);

  /// A step has two halves: the cells that need no halo, then those that do.
  void relax_inside();
  void relax_rim();

  /// Temperatures of a row, `width()` of them.
  std::span<const float> row(std::size_t y) const noexcept { return {&now_[at(0, y)], width_}; }

 private:
  // Cells have coordinates from 0; the halo lies at -1 and at width or height.
  std::size_t at(std::size_t x, std::size_t y) const noexcept { return (y + 1) * (width_ + 2) + x + 1; }
  void relax(std::size_t x_begin, std::size_t x_end, std::size_t y_begin, std::size_t y_end);
  void note_heated(std::size_t size);

  std::size_t left_;
  std::size_t top_;
  std::size_t width_;
  std::size_t height_;
  std::array<std::optional<std::uint32_t>, kAllSides.size()> neighbours_;
  std::vector<float> now_;
  std::vector<float> next_;
  std::vector<std::size_t> heated_;  // cells of the letter
};

}  // namespace coracle::stencil
