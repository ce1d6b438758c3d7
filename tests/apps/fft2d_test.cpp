// The pieces of fft2d: strips, FFTW's plans beside sums written out, the filter's gain, the report.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "apps/fft2d/transform.hpp"
#include "apps/fft2d/user_interface.hpp"

namespace coracle::fft2d::fft2d_test {

namespace {

Complex some(std::size_t i) {
  return {std::sin(static_cast<double>(i * i)), std::cos(static_cast<double>(3 * i))};
}

/// The definition.
Complex element(const std::vector<Complex>& grid, std::size_t rows, std::size_t columns, std::size_t row,
                std::size_t column) {
  Complex sum = 0;
  for (std::size_t y = 0; y < rows; ++y)
    for (std::size_t x = 0; x < columns; ++x) {
      const double turns = static_cast<double>(row * y) / static_cast<double>(rows) +
                           static_cast<double>(column * x) / static_cast<double>(columns);
      sum += grid[y * columns + x] * std::polar(1.0, -2 * std::numbers::pi * turns);
    }
  return sum;
}

}  // namespace

TEST_CASE("strips: cover all rows, one after the other, as evenly as can be") {
  for (const std::size_t rows : {0UL, 1UL, 7UL, 64UL, 101UL})
    for (const std::uint32_t ranks : {1U, 2U, 7U, 16U}) {
      const Strips strips{rows, ranks};
      std::size_t next = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        CHECK(strips.first(rank) == next);
        CHECK(strips.count(rank) <= rows / ranks + 1);
        CHECK(strips.count(rank) >= rows / ranks);
        next += strips.count(rank);
      }
      CHECK(next == rows);
    }
}

TEST_CASE("plans: a transform in both dimensions is what its definition says") {
  constexpr std::size_t kRows = 6;
  constexpr std::size_t kColumns = 5;
  std::vector<Complex> grid(kRows * kColumns);
  const Plan plan = Plan::of_grid(grid.data(), kRows, kColumns, Direction::forward);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = some(i);
  const std::vector<Complex> before = grid;
  plan.run();
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column)
      CHECK(std::abs(grid[row * kColumns + column] - element(before, kRows, kColumns, row, column)) < 1e-12);
}

TEST_CASE("plans: rows are transformed apart, and backward after forward multiplies by their length") {
  constexpr std::size_t kRows = 3;
  constexpr std::size_t kLength = 8;
  std::vector<Complex> grid(kRows * kLength);
  const Plan forward = Plan::of_rows(grid.data(), kRows, kLength, Direction::forward);
  const Plan backward = Plan::of_rows(grid.data(), kRows, kLength, Direction::backward);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = some(i);
  const std::vector<Complex> before = grid;
  forward.run();
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::vector<Complex> one(before.begin() + static_cast<std::ptrdiff_t>(row * kLength),
                                   before.begin() + static_cast<std::ptrdiff_t>((row + 1) * kLength));
    for (std::size_t i = 0; i < kLength; ++i)
      CHECK(std::abs(grid[row * kLength + i] - element(one, 1, kLength, 0, i)) < 1e-12);
  }
  backward.run();
  for (std::size_t i = 0; i < grid.size(); ++i)
    CHECK(std::abs(grid[i] - before[i] * static_cast<double>(kLength)) < 1e-12);
}

TEST_CASE("low pass: keeps the mean, halves what changes at the cutoff, and treats both signs alike") {
  CHECK(gain(0, 0, 100, 60, 0.1) == 1);
  CHECK(gain(10, 0, 100, 60, 0.1) == doctest::Approx(0.5));
  CHECK(gain(0, 54, 100, 60, 0.1) == doctest::Approx(0.5));
  CHECK(gain(90, 6, 100, 60, 0.1) == doctest::Approx(0.25));
  CHECK(gain(50, 30, 100, 60, 0.1) < 1e-10);
}

TEST_CASE("low pass: a plain picture stays as it is, and a wave of two pixels goes") {
  Picture picture{8, 6, 1, 255, std::vector<std::uint16_t>(48, 100)};
  CHECK(low_pass_alone(picture, 0.05).samples == picture.samples);
  for (std::size_t i = 0; i < 48; ++i) picture.samples[i] = i % 2 == 0 ? 50 : 150;
  CHECK(low_pass_alone(picture, 0.05).samples == std::vector<std::uint16_t>(48, 100));
}

TEST_CASE("report: medians of an even and an odd number of transforms") {
  Report report;
  report.rows = report.columns = 1000;
  report.seconds = {4, 1, 2};
  report.transposing = {0.5, 0.25, 0.75, 0.25};
  CHECK(report.median_s() == 2);
  CHECK(report.median_share() == 0.375);
  CHECK(report.transposed_bytes_per_s() == doctest::Approx(32e6 / 0.75));
}

}  // namespace coracle::fft2d::fft2d_test
