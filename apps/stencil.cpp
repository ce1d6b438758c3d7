// Heat in a plate: a hot letter C warms it. The plate is cut into tiles, one per rank; in each step neighbours put the
// edges of their tiles straight into each other's memory, and a signal with each put says that it has come.
#include <fmt/core.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "apps/common/command_line.hpp"
#include "apps/common/program.hpp"
#include "apps/stencil/picture.hpp"
#include "apps/stencil/tile.hpp"

namespace coracle::stencil {
namespace {

constexpr std::size_t kSides = kAllSides.size();

struct Options {
  std::size_t size = 512;
  std::size_t steps = 2000;
  std::string picture = std::string("heat.") + best_picture_extension();
  bool verify = false;
  std::string arrivals;  // where to write how late ranks come to the meeting after each step; empty: they don't meet
};

// Where neighbours put their edges: a place per side for even steps and one for odd ones. Two are enough: a neighbour
// sends the edge of step t + 2 after it got ours of t + 1, which we send after we have used its edge of t.
struct Mailbox {
  Remote<float> edges;     // [parity][side][longest edge]
  Remote<Signal> arrived;  // [side]: edges that have come, ever
};

Task<> warm_up(Rank& self, Tile& tile, std::size_t steps, std::size_t longest, ArrivalLog* arrivals) {
  const auto place = [longest](std::size_t step, Side side) {
    return static_cast<std::ptrdiff_t>((step % 2 * kSides + side) * longest);
  };
  auto edges = self.allocate<float>(2 * kSides * longest);
  auto arrived = self.allocate_signals(kSides);
  const Mailbox mine{edges.remote(), arrived.remote()};
  const auto mailboxes = co_await self.world().gather_all(mine);
  std::vector<float> outgoing(kSides * longest);

  for (std::size_t step = 0; step < steps; ++step) {
    for (const Side side : kAllSides) {
      const auto neighbour = tile.neighbour(side);
      if (!neighbour) continue;
      const auto edge = tile.copy_edge(side, std::span(outgoing).subspan(side * longest, longest));
      const Mailbox& theirs = mailboxes[*neighbour];
      const Side there = opposite(side);
      self.put_signal_nbi(edge, theirs.edges + place(step, there), theirs.arrived + there);
    }
    tile.relax_inside();  // needs no neighbour: the edges travel meanwhile
    for (const Side side : kAllSides) {
      if (!tile.neighbour(side)) continue;
      co_await self.wait(arrived[side], step + 1);
      tile.set_halo(side, edges.data() + place(step, side));
    }
    tile.relax_rim();
    co_await self.nbi_done();  // `outgoing` may be written again
    if (arrivals != nullptr) {
      arrivals->note(self);
      co_await self.world().barrier();
    }
  }
  co_await self.world().barrier();  // nobody gives memory back that a neighbour still writes to
}

void paste(std::vector<float>& plate, std::size_t size, const Tile& tile, std::span<const float> cells) {
  for (std::size_t y = 0; y < tile.height(); ++y) {
    std::ranges::copy(cells.subspan(y * tile.width(), tile.width()), &plate[(tile.top() + y) * size + tile.left()]);
  }
}

// The whole plate on rank 0, which gets the tiles one after the other; empty elsewhere.
Task<std::vector<float>> collect(Rank& self, const Tile& tile, std::size_t size, Grid grid) {
  auto cells = self.allocate<float>(tile.width() * tile.height());
  for (std::size_t y = 0; y < tile.height(); ++y) std::ranges::copy(tile.row(y), cells.data() + y * tile.width());
  const auto everyones = co_await self.world().gather_all(cells.remote());
  std::vector<float> plate;
  if (self.id() == 0) {
    plate.resize(size * size);
    for (std::uint32_t peer = 0; peer < self.size(); ++peer) {
      const Tile theirs(size, grid, peer);
      std::vector<float> copy(theirs.width() * theirs.height());
      co_await self.get(everyones[peer], copy);
      paste(plate, size, theirs, copy);
    }
  }
  co_await self.world().barrier();
  co_return plate;
}

std::vector<float> warm_up_alone(std::size_t size, std::size_t steps) {
  Tile tile(size, Grid{1, 1}, 0);
  for (std::size_t step = 0; step < steps; ++step) {
    tile.relax_inside();
    tile.relax_rim();
  }
  std::vector<float> plate;
  for (std::size_t y = 0; y < size; ++y) plate.insert(plate.end(), tile.row(y).begin(), tile.row(y).end());
  return plate;
}

void check_size(std::size_t size, Grid grid) {
  if (std::max(grid.columns, grid.rows) <= size) return;
  throw Error(Errc::bad_input, fmt::format("a plate of {0} x {0} cells can't be cut into {1} x {2} tiles; "
                                           "take a larger --size or fewer ranks",
                                           size, grid.columns, grid.rows));
}

Task<> heat(Rank& self, Options options) {
  const Grid grid = Grid::for_ranks(self.size());
  if (self.id() == 0) check_size(options.size, grid);
  co_await self.world().barrier();
  Tile tile(options.size, grid, self.id());
  constexpr std::size_t kStepsNoted = 500;
  ArrivalLog arrivals(kStepsNoted);
  const bool notes = !options.arrivals.empty() && options.steps > 0;
  co_await warm_up(self, tile, options.steps, grid.longest_edge(options.size), notes ? &arrivals : nullptr);
  if (notes)
    co_await arrivals.write(self, options.arrivals,
                            fmt::format("stencil --size {} on {} ranks", options.size, self.size()));
  const std::vector<float> plate = co_await collect(self, tile, options.size, grid);
  if (self.id() != 0) co_return;

  if (options.verify && plate != warm_up_alone(options.size, options.steps)) {
    throw Error(std::make_error_code(std::errc::state_not_recoverable),
                "the plate differs from one rank's alone: a halo came late or to the wrong place");
  }
  write_picture(options.picture, {plate, options.size, options.size});
  fmt::print("{0} x {0} cells in {1} x {2} tiles, {3} steps{4}: see {5}\n", options.size, grid.columns, grid.rows,
             options.steps, options.verify ? ", bit for bit as on one rank" : "", options.picture);
}

/// Before anything is computed, rather than when the picture is to be written.
std::string check_picture(const std::string& path) {
  if (path.ends_with(".pgm")) return "";
  if (!path.ends_with(".png")) return path + ": a picture's name ends in .png or .pgm; rename it";
  if (best_picture_extension() == std::string_view("png")) return "";
  return path + ": this build writes no PNG; name it .pgm, or build with libpng";
}

int start(int argc, char** argv) {
  Options options;
  CommandLine app("Heat in a plate, tile by tile; writes a picture.", "stencil");
  app.add_option("--size", options.size, "cells in each direction").show_default().check(whole_number(1, 1 << 14));
  app.add_option("--steps", options.steps, "steps in time").show_default().check(any_count());
  app.add_option("--output", options.picture, "picture to write, .png or .pgm").show_default().check({check_picture});
  app.add_option("--arrivals", options.arrivals,
                 "meet after each step, and write how late each rank came to this file (see `coracle bench arrival`)");
  app.add_flag("--verify", options.verify, "compare with the same computed by one rank alone");
  if (const std::optional<int> status = app.parse(argc, argv)) return leave(argc, argv, *status);
  return run(argc, argv, [&options](Rank& self) { return heat(self, options); });
}

}  // namespace
}  // namespace coracle::stencil

int main(int argc, char** argv) {
  return coracle::stencil::start(argc, argv);
}
