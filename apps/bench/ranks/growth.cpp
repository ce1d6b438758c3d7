// Normal equations of a * n + b * n^2.
#include "apps/bench/ranks/growth.hpp"

#include "runtime/core/assert.hpp"

namespace coracle::internals::bench {

Growth growth_of(std::span<const double> numbers, std::span<const double> values) {
  double n2 = 0;
  double n3 = 0;
  double n4 = 0;
  double vn = 0;
  double vn2 = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double n = numbers[i];
    n2 += n * n;
    n3 += n * n * n;
    n4 += n * n * n * n;
    vn += values[i] * n;
    vn2 += values[i] * n * n;
  }
  const double determinant = n2 * n4 - n3 * n3;
  CORACLE_ASSERT(determinant > 0, "a growth of {} numbers that are alike", numbers.size());
  return {(vn * n4 - vn2 * n3) / determinant, (vn2 * n2 - vn * n3) / determinant};
}

}  // namespace coracle::internals::bench
