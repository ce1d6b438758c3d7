// 2-D Fourier transforms of a grid whose rows are spread over the ranks, timed and verified; or the low-pass filter of
// a picture by the same transforms. the transposition in apps/fft2d/transform.cpp is what there
// is to see.
#include <fmt/core.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "apps/common/program.hpp"
#include "apps/common/split_mix.hpp"
#include "apps/fft2d/pnm.hpp"
#include "apps/fft2d/transform.hpp"
#include "apps/fft2d/user_interface.hpp"

namespace coracle::fft2d {
namespace {

constexpr std::size_t kVerifiedElementsMax = std::size_t{1} << 22;
// Both transforms err by some 1e-16 times the root of the number of steps; whatever is in the wrong place, by about 1.
constexpr double kDifferenceMax = 1e-12;

/// One of 2^53 numbers from -1 to 1.
double random_number(std::uint64_t seed, std::uint64_t place) {
  return static_cast<double>(SplitMix64::at(seed, place) >> 11U) * 0x1p-52 - 1;
}

/// `count` elements of the grid, from the one at `first` on.
void fill(Complex* elements, std::size_t first, std::size_t count, std::uint64_t seed) {
  for (std::size_t i = 0; i < count; ++i)
    elements[i] = {random_number(seed, 2 * (first + i)), random_number(seed, 2 * (first + i) + 1)};
}

bool verifies(const Options& options) {
  return options.verify || options.rows * options.columns <= kVerifiedElementsMax;
}

Task<> time_transforms(Rank& self, Transform& transform, const Options& options, Report& report) {
  const Strips rows = transform.rows();
  constexpr std::size_t kWarmUps = 1;
  for (std::size_t i = 0; i < kWarmUps + options.repetitions; ++i) {
    fill(transform.grid(), rows.first(self.id()) * options.columns, rows.count(self.id()) * options.columns,
         options.seed);
    co_await self.world().barrier();
    transform.take_transposing_s();
    const std::uint64_t begin_ns = self.loop().exact_now_ns();
    co_await transform.forward();
    co_await transform.transpose_back();
    const double seconds = static_cast<double>(self.loop().exact_now_ns() - begin_ns) * 1e-9;
    const double transposing = transform.take_transposing_s();
    const double slowest = co_await self.world().all_reduce(seconds, max_of);
    std::vector<double> sums = {seconds, transposing};
    co_await self.world().all_reduce(sums, std::plus<>{});
    if (i < kWarmUps) continue;
    report.seconds.push_back(slowest);
    report.transposing.push_back(sums[0] > 0 ? sums[1] / sums[0] : 0);
  }
}

/// At rank 0: the whole result against a serial transform.
void compare(Rank& self, const std::vector<Complex>& found, const Options& options, Report& report) {
  std::vector<Complex> grid(found.size());
  const Plan plan = Plan::of_grid(grid.data(), options.rows, options.columns, Direction::forward);
  fill(grid.data(), 0, grid.size(), options.seed);
  const std::uint64_t begin_ns = self.loop().exact_now_ns();
  plan.run();
  report.serial_s = static_cast<double>(self.loop().exact_now_ns() - begin_ns) * 1e-9;
  double largest = 0;
  double apart = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    largest = std::max(largest, std::abs(grid[i]));
    const double distance = std::abs(grid[i] - found[i]);
    if (distance <= apart) continue;
    apart = distance;
    where = i;
  }
  report.difference = apart / largest;
  if (*report.difference <= kDifferenceMax) return;
  throw_mistake("fft2d",
                fmt::format("element {} of row {} is {:.1e} of the largest value apart from a serial transform's",
                            where % options.columns, where / options.columns, *report.difference));
}

Task<> verify(Rank& self, Transform& transform, const Options& options, Report& report) {
  const Strips rows = transform.rows();
  const std::span<const Complex> mine(transform.grid(), rows.count(self.id()) * options.columns);
  std::vector<Complex> whole;
  std::vector<std::size_t> counts;
  if (self.id() == 0) {
    whole.resize(options.rows * options.columns);
    counts = rows.elements_of_all(options.columns);
  }
  co_await self.world().gather_v(mine, std::span(whole), counts, 0);
  if (self.id() == 0) compare(self, whole, options, report);
}

Task<> transform_grid(Rank& self, Options options) {
  const double bytes = static_cast<double>(options.rows) * static_cast<double>(options.columns) * sizeof(Complex);
  if (self.id() == 0)
    check_memory(bytes * (verifies(options) ? 4 : 2),
                 fmt::format("a grid of {} x {} needs", options.rows, options.columns), "--size",
                 verifies(options) ? " with its verification" : "");
  co_await self.world().barrier();
  Report report;
  report.rows = options.rows;
  report.columns = options.columns;
  report.ranks = self.size();
  report.placement = to_string(self.placement());
  Transform transform(self.world(), options.rows, options.columns, Ways::forward);
  co_await time_transforms(self, transform, options, report);
  if (verifies(options)) co_await verify(self, transform, options, report);
  if (self.id() != 0) co_return;
  fmt::print("{}", to_text(report));
  if (!options.json_path.empty()) write_whole(to_json(report), options.json_path);
}

/// What all ranks must know of rank 0's picture.
struct Shape {
  std::uint64_t width;
  std::uint64_t height;
  std::uint64_t channels;
};

void compare_alone(const Picture& picture, const Picture& filtered, double cutoff) {
  const Picture alone = low_pass_alone(picture, cutoff);
  for (std::size_t i = 0; i < alone.samples.size(); ++i) {
    // What lies between two levels may be rounded to either.
    if (std::abs(int{alone.samples[i]} - int{filtered.samples[i]}) <= 1) continue;
    throw_mistake("fft2d", fmt::format("sample {} is {}, but {} by a serial transform", i, filtered.samples[i],
                                       alone.samples[i]));
  }
}

Task<> filter_picture(Rank& self, Options options) {
  Picture picture;
  if (self.id() == 0) picture = read_pnm(options.image);
  Shape shape{picture.width, picture.height, picture.channels};
  co_await self.world().broadcast(std::span(&shape, 1), 0);
  Transform transform(self.world(), shape.height, shape.width, Ways::both);
  Picture filtered = co_await low_pass(transform, self, picture, shape.channels, options.cutoff);
  if (self.id() != 0) co_return;
  const bool compares = options.verify || shape.width * shape.height <= kVerifiedElementsMax;
  if (compares) compare_alone(picture, filtered, options.cutoff);
  write_pnm(options.out, filtered);
  fmt::print("{}: {} x {}, {}, filtered by {} rank{}{}: see {}\n", options.image, shape.width, shape.height,
             shape.channels == 1 ? "grey" : "colour", self.size(), self.size() == 1 ? "" : "s",
             compares ? ", as by one alone" : "", options.out);
}

Task<> run_all(Rank& self, const Options& options) {
  return options.image.empty() ? transform_grid(self, options) : filter_picture(self, options);
}

}  // namespace
}  // namespace coracle::fft2d

int main(int argc, char** argv) {
  return coracle::start(argc, argv, coracle::fft2d::parse_options(argc, argv), coracle::fft2d::run_all);
}
