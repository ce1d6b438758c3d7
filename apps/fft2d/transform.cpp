// Layouts of tiles and columns; then rows, transposition, columns. Plans are made by one thread at a time: FFTW's
// planner is not made for more. The filter goes channel by channel: forward, gain, backward.
#include "apps/fft2d/transform.hpp"

#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "runtime/core/assert.hpp"

namespace coracle::fft2d {
namespace {

/// In placement `thread` the ranks are threads of this process.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

fftw_complex* as_fftw(Complex* grid) {
  return reinterpret_cast<fftw_complex*>(grid);
}

int sign_of(Direction direction) {
  return direction == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD;
}

// Plans that have been tried out for longer than this gain little.
constexpr double kPlanningSecondsMax = 2;

}  // namespace

Plan Plan::of_rows(Complex* grid, std::size_t rows, std::size_t length, Direction direction) {
  if (rows == 0) return Plan(nullptr);
  const int n = static_cast<int>(length);
  const std::scoped_lock lock(planner());
  fftw_set_timelimit(kPlanningSecondsMax);
  fftw_plan plan = fftw_plan_many_dft(1, &n, static_cast<int>(rows), as_fftw(grid), nullptr, 1, n, as_fftw(grid),
                                      nullptr, 1, n, sign_of(direction), FFTW_MEASURE);
  CORACLE_ASSERT(plan != nullptr, "FFTW has no plan for {} rows of {} elements", rows, length);
  return Plan(plan);
}

Plan Plan::of_grid(Complex* grid, std::size_t rows, std::size_t columns, Direction direction) {
  const std::scoped_lock lock(planner());
  fftw_plan plan = fftw_plan_dft_2d(static_cast<int>(rows), static_cast<int>(columns), as_fftw(grid), as_fftw(grid),
                                    sign_of(direction), FFTW_ESTIMATE);
  CORACLE_ASSERT(plan != nullptr, "FFTW has no plan for a grid of {} x {}", rows, columns);
  return Plan(plan);
}

void Plan::run() const noexcept {
  if (plan_) fftw_execute(plan_.get());
}

void Plan::Destroy::operator()(fftw_plan_s* plan) const noexcept {
  const std::scoped_lock lock(planner());
  fftw_destroy_plan(plan);
}

std::vector<std::size_t> Strips::elements_of_all(std::size_t length) const {
  std::vector<std::size_t> counts(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) counts[rank] = count(rank) * length;
  return counts;
}

namespace {

constexpr std::int64_t kElement = sizeof(Complex);

std::int64_t as_signed(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

}  // namespace

Transposition::Transposition(Team& team, std::size_t rows, std::size_t columns)
    : team_(team), rows_{rows, team.size()}, columns_{columns, team.size()} {
  const Layout element = Layout::of<Complex>();
  const std::int64_t own_rows = as_signed(rows_.count(team.index()));
  const std::int64_t own_columns = as_signed(columns_.count(team.index()));
  for (std::uint32_t member = 0; member < team.size(); ++member) {
    const std::int64_t width = as_signed(columns_.count(member));
    tiles_.push_back(element.vector(own_rows, width, as_signed(columns)).resized(0, width * kElement));
  }
  column_ = element.vector(own_columns, 1, as_signed(rows)).resized(0, kElement);
}

Task<> Transposition::run(const Complex* mine, Complex* transposed) const {
  if (rows_.even() && columns_.even()) {
    co_await team_.all_to_all({mine, tiles_[0]}, {transposed, column_, rows_.count(0)});
    co_return;
  }
  std::vector<ScatteredSource> sources;
  std::vector<ScatteredTarget> targets;
  for (std::uint32_t member = 0; member < team_.size(); ++member) {
    sources.push_back({mine + columns_.first(member), tiles_[member]});
    targets.push_back({transposed + rows_.first(member), column_, rows_.count(member)});
  }
  co_await team_.all_to_all_w(sources, targets);
}

Transform::Transform(Team& team, std::size_t rows, std::size_t columns, Ways ways)
    : team_(team),
      rows_{rows, team.size()},
      columns_{columns, team.size()},
      grid_(rows_.count(team.index()) * columns * sizeof(Complex)),
      transposed_(columns_.count(team.index()) * rows * sizeof(Complex)),
      rows_forward_(Plan::of_rows(grid(), rows_.count(team.index()), columns, Direction::forward)),
      rows_backward_(
          Plan::of_rows(grid(), ways == Ways::both ? rows_.count(team.index()) : 0, columns, Direction::backward)),
      columns_forward_(Plan::of_rows(transposed(), columns_.count(team.index()), rows, Direction::forward)),
      columns_backward_(Plan::of_rows(transposed(), ways == Ways::both ? columns_.count(team.index()) : 0, rows,
                                      Direction::backward)),
      there_(team, rows, columns),
      back_(team, columns, rows) {}

Task<> Transform::forward() {
  rows_forward_.run();
  co_await transpose(there_, grid(), transposed());
  columns_forward_.run();
}

Task<> Transform::backward() {
  columns_backward_.run();
  co_await transpose(back_, transposed(), grid());
  rows_backward_.run();
}

Task<> Transform::transpose_back() {
  return transpose(back_, transposed(), grid());
}

Task<> Transform::transpose(const Transposition& transposition, const Complex* from, Complex* to) {
  EventLoop& loop = team_.rank().loop();
  const std::uint64_t begin_ns = loop.exact_now_ns();
  co_await transposition.run(from, to);
  transposing_s_ += static_cast<double>(loop.exact_now_ns() - begin_ns) * 1e-9;
}

namespace {

/// Signed frequency in cycles per element.
double frequency(std::size_t place, std::size_t length) {
  const double cycles =
      2 * place > length ? static_cast<double>(place) - static_cast<double>(length) : static_cast<double>(place);
  return cycles / static_cast<double>(length);
}

std::vector<Complex> channel_of(const Picture& picture, std::size_t channel) {
  std::vector<Complex> grid(picture.width * picture.height);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = picture.samples[i * picture.channels + channel];
  return grid;
}

void set_channel(Picture& picture, std::size_t channel, const std::vector<Complex>& grid) {
  const double scale = 1 / static_cast<double>(grid.size());
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const double value = std::clamp(std::round(grid[i].real() * scale), 0.0, static_cast<double>(picture.white));
    picture.samples[i * picture.channels + channel] = static_cast<std::uint16_t>(value);
  }
}

}  // namespace

double gain(std::size_t row, std::size_t column, std::size_t rows, std::size_t columns, double cutoff) noexcept {
  const double along = frequency(row, rows) / cutoff;
  const double across = frequency(column, columns) / cutoff;
  return std::exp2(-(along * along + across * across));
}

Task<Picture> low_pass(Transform& transform, Rank& self, Picture picture, std::size_t channels, double cutoff) {
  const Strips rows = transform.rows();
  const Strips columns = transform.columns();
  const std::span<Complex> mine(transform.grid(), rows.count(self.id()) * columns.rows);
  std::vector<std::size_t> counts;
  if (self.id() == 0) counts = rows.elements_of_all(columns.rows);
  const std::size_t first = columns.first(self.id());
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::vector<Complex> whole;
    if (self.id() == 0) whole = channel_of(picture, channel);
    co_await self.world().scatter_v(whole, counts, mine, 0);
    co_await transform.forward();
    Complex* element = transform.transposed();
    for (std::size_t column = first; column < first + columns.count(self.id()); ++column)
      for (std::size_t row = 0; row < rows.rows; ++row)
        *element++ *= gain(row, column, rows.rows, columns.rows, cutoff);
    co_await transform.backward();
    co_await self.world().gather_v(mine, std::span(whole), counts, 0);
    if (self.id() == 0) set_channel(picture, channel, whole);
  }
  co_return picture;
}

Picture low_pass_alone(const Picture& picture, double cutoff) {
  Picture filtered = picture;
  for (std::size_t channel = 0; channel < picture.channels; ++channel) {
    std::vector<Complex> grid = channel_of(picture, channel);
    Plan::of_grid(grid.data(), picture.height, picture.width, Direction::forward).run();
    for (std::size_t row = 0; row < picture.height; ++row)
      for (std::size_t column = 0; column < picture.width; ++column)
        grid[row * picture.width + column] *= gain(row, column, picture.height, picture.width, cutoff);
    Plan::of_grid(grid.data(), picture.height, picture.width, Direction::backward).run();
    set_channel(filtered, channel, grid);
  }
  return filtered;
}

}  // namespace coracle::fft2d
