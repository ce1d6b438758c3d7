// Delays from times: what is said of each iteration, their distribution, and the trace.
#include "apps/asp/user_interface.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <vector>

#include "apps/common/program.hpp"

namespace coracle::asp::apps_arrivals_test {

TEST_CASE("arrivals: mean, maximum and the root's delay, after the first of each iteration") {
  const std::vector<double> times = {1, 1.5, 2, 1, 10.25, 10, 10, 10.5};
  const std::vector<std::uint32_t> roots = {2, 0};
  const Arrivals arrivals = arrivals_of(times, roots, 4);
  REQUIRE(arrivals.iterations.size() == 2);
  CHECK(arrivals.iterations[0].mean_s == doctest::Approx(1.5 / 4));
  CHECK(arrivals.iterations[0].max_s == doctest::Approx(1));
  CHECK(arrivals.iterations[0].root_s == doctest::Approx(1));
  CHECK(arrivals.iterations[1].root_s == doctest::Approx(0.25));
  CHECK(arrivals.mean_s == doctest::Approx((1.5 / 4 + 0.75 / 4) / 2));
  CHECK(arrivals.max_s == doctest::Approx(1));
}

TEST_CASE("arrivals: every delay but the first's is in the bin of its power of two") {
  const std::vector<double> times = {0, 0.5e-6, 3e-6, 3.9e-6, 4e-6, 100};
  const Arrivals arrivals = arrivals_of(times, std::vector<std::uint32_t>{0}, 6);
  REQUIRE(arrivals.histogram.size() == 24);
  CHECK(arrivals.histogram[0].count == 1);
  CHECK(arrivals.histogram[1].count == 0);
  CHECK(arrivals.histogram[2].below_s == doctest::Approx(4e-6));
  CHECK(arrivals.histogram[2].count == 2);
  CHECK(arrivals.histogram[3].count == 1);
  CHECK(arrivals.histogram.back().count == 1);
}

TEST_CASE("arrivals: of one rank there is nothing to say") {
  const Arrivals arrivals = arrivals_of(std::vector<double>{1, 2}, std::vector<std::uint32_t>{0, 0}, 1);
  CHECK(arrivals.iterations.empty());
  CHECK(arrivals.histogram.empty());
}

TEST_CASE("arrivals: the trace has a line of delays per iteration") {
  CHECK(arrival_trace("asp", std::vector<double>{1, 1.0000015, 3, 2.5}, 2) ==
        "# How late each rank of asp came to the collective of each iteration, after the first of them.\n"
        "unit = us\nranks = 2\n0.000 1.500\n500000.000 0.000\n");
}

}  // namespace coracle::asp::apps_arrivals_test
