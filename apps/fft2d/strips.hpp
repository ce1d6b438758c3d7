// Strips: a grid's rows, as evenly as can be divided among ranks.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

namespace coracle::fft2d {

using Complex = std::complex<double>;

struct Strips {
  std::size_t rows;
  std::uint32_t ranks;

  std::size_t first(std::uint32_t rank) const noexcept { return rows * rank / ranks; }
  std::size_t count(std::uint32_t rank) const noexcept { return first(rank + 1) - first(rank); }
  /// Whether all have equally many.
  bool even() const noexcept { return rows % ranks == 0; }
};

}  // namespace coracle::fft2d
