// Plans are made by one thread at a time: FFTW's planner is not made for more.
#include "apps/fft2d/fftw.hpp"

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

}  // namespace coracle::fft2d
