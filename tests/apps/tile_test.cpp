// However the plate is cut, it warms up in the same way.
#include "apps/stencil/tile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>
#include <vector>

namespace coracle::stencil::tile_test {
namespace {

std::vector<Tile> cut(std::size_t size, Grid grid) {
  std::vector<Tile> tiles;
  for (std::uint32_t rank = 0; rank < grid.columns * grid.rows; ++rank) tiles.emplace_back(size, grid, rank);
  return tiles;
}

void step(std::vector<Tile>& tiles, std::size_t longest) {
  std::vector<float> buffer(longest);
  for (Tile& tile : tiles) tile.relax_inside();
  for (const Tile& tile : tiles) {
    for (const Side side : kAllSides) {
      const auto neighbour = tile.neighbour(side);
      if (neighbour) tiles[*neighbour].set_halo(opposite(side), tile.copy_edge(side, buffer).data());
    }
  }
  for (Tile& tile : tiles) tile.relax_rim();
}

std::vector<float> plate_after(std::size_t size, Grid grid, std::size_t steps) {
  std::vector<Tile> tiles = cut(size, grid);
  for (std::size_t i = 0; i < steps; ++i) step(tiles, grid.longest_edge(size));
  std::vector<float> plate(size * size, -1.0F);
  for (const Tile& tile : tiles) {
    for (std::size_t y = 0; y < tile.height(); ++y) {
      std::ranges::copy(tile.row(y),
                        plate.begin() + static_cast<std::ptrdiff_t>((tile.top() + y) * size + tile.left()));
    }
  }
  return plate;
}

}  // namespace

TEST_CASE("tile: every grid gives the plate of a single tile, bit for bit") {
  for (const std::size_t size : {7U, 40U, 61U}) {
    const std::vector<float> expected = plate_after(size, {1, 1}, 30);
    for (const Grid grid : {Grid{2, 1}, Grid{1, 2}, Grid{3, 2}, Grid{7, 7}, Grid{5, 1}}) {
      INFO(size, " cells, ", grid.columns, " x ", grid.rows, " tiles");
      CHECK(plate_after(size, grid, 30) == expected);
    }
  }
}

TEST_CASE("tile: the letter stays hot, the rest warms up and never gets hotter") {
  constexpr std::size_t kSize = 60;
  const std::vector<float> before = plate_after(kSize, {1, 1}, 0);
  const std::vector<float> after = plate_after(kSize, {1, 1}, 50);
  CHECK(std::ranges::count(before, 1.0F) > 100);
  CHECK(std::ranges::count(before, 1.0F) == std::ranges::count(after, 1.0F));
  CHECK(std::ranges::count(before, 0.0F) > std::ranges::count(after, 0.0F));
  CHECK(*std::ranges::min_element(after) >= 0);
  CHECK(*std::ranges::max_element(after) == 1);
}

TEST_CASE("tile: grids hold all ranks and are as square as can be") {
  for (std::uint32_t ranks = 1; ranks <= 300; ++ranks) {
    const Grid grid = Grid::for_ranks(ranks);
    CHECK(grid.columns * grid.rows == ranks);
    CHECK(grid.rows <= grid.columns);
  }
  CHECK(Grid::for_ranks(12).rows == 3);
  CHECK(Grid::for_ranks(13).rows == 1);
}

TEST_CASE("tile: neighbours see each other from opposite sides") {
  const Grid grid = {4, 3};
  for (const Tile& tile : cut(20, grid)) {
    for (const Side side : kAllSides) {
      const auto neighbour = tile.neighbour(side);
      if (!neighbour) continue;
      const Tile other(20, grid, *neighbour);
      const auto back = other.neighbour(opposite(side));
      REQUIRE(back.has_value());
      const Tile self(20, grid, back.value_or(99));
      CHECK(self.left() == tile.left());
      CHECK(self.top() == tile.top());
    }
  }
}

}  // namespace coracle::stencil::tile_test
