// Growth: how a quantity grows with the number of ranks, as a line and a square.
#pragma once

#include <span>

namespace coracle::internals::bench {

/// linear * n + quadratic * n^2.
struct Growth {
  double linear = 0;
  double quadratic = 0;
};

/// That comes nearest to `values` at `numbers` by least squares. At least two different numbers.
Growth growth_of(std::span<const double> numbers, std::span<const double> values);

}  // namespace coracle::internals::bench
