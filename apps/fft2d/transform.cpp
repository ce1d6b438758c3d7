// Layouts of tiles and columns; then rows, transposition, columns. Plans are made by one thread at a time: FFTW's
// planner is not made for more.
#include "apps/fft2d/transform.hpp"

#include <fftw3.h>

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

}  // namespace coracle::fft2d
