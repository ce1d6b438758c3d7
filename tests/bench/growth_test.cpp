// The fit of what grows with the number of ranks.
#include <doctest/doctest.h>

#include <vector>

#include "apps/bench/ranks/process_memory.hpp"

namespace coracle::internals::bench::growth_test {

TEST_CASE("growth: sums of a line and a square are found, and what lies beside them counts by least squares") {
  const std::vector<double> numbers{60, 120, 180, 240};
  std::vector<double> values;
  for (const double n : numbers) values.push_back(7 * n + 0.5 * n * n);
  const Growth exact = growth_of(numbers, values);
  CHECK(exact.linear == doctest::Approx(7));
  CHECK(exact.quadratic == doctest::Approx(0.5));
  // Off by something that is at right angles to both n and n^2.
  const std::vector<double> pair{1, 2, 3};
  const std::vector<double> off{5 + 3, 14 - 3, 27 + 1};  // 3 n + 2 n^2, and (3, -3, 1)
  const Growth nearest = growth_of(pair, off);
  CHECK(nearest.linear == doctest::Approx(3));
  CHECK(nearest.quadratic == doctest::Approx(2));
}

}  // namespace coracle::internals::bench::growth_test
