// Channel by channel: forward, gain, backward.
#include "apps/fft2d/low_pass.hpp"

#include <algorithm>
#include <cmath>

namespace coracle::fft2d {
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

std::vector<std::size_t> elements_of_all(const Strips& strips, std::size_t length) {
  std::vector<std::size_t> counts(strips.ranks);
  for (std::uint32_t rank = 0; rank < strips.ranks; ++rank) counts[rank] = strips.count(rank) * length;
  return counts;
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
  if (self.id() == 0) counts = elements_of_all(rows, columns.rows);
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
