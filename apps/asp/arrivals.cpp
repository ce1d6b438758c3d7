// Delays from times, and their distribution.
#include "apps/asp/arrivals.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/core/assert.hpp"

namespace coracle::asp {
namespace {

constexpr double kFirstBin_s = 1e-6;
constexpr std::size_t kBinsMax = 24;  // up to 8 s

std::size_t bin_of(double delay_s) noexcept {
  std::size_t bin = 0;
  for (double below_s = kFirstBin_s; delay_s >= below_s && bin + 1 < kBinsMax; below_s *= 2) ++bin;
  return bin;
}

}  // namespace

Arrivals arrivals_of(std::span<const double> times_s, std::span<const std::uint32_t> roots, std::uint32_t ranks) {
  CORACLE_ASSERT(times_s.size() == roots.size() * ranks, "{} times of {} iterations and {} ranks", times_s.size(),
                 roots.size(), ranks);
  Arrivals arrivals;
  arrivals.ranks = ranks;
  if (ranks < 2 || roots.empty()) return arrivals;
  std::vector<std::uint64_t> counts(kBinsMax);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::span<const double> times = times_s.subspan(i * ranks, ranks);
    const auto first = std::min_element(times.begin(), times.end());
    Arrivals::Iteration iteration{0, 0, times[roots[i]] - *first};
    for (auto time = times.begin(); time != times.end(); ++time) {
      const double delay_s = *time - *first;
      iteration.mean_s += delay_s / ranks;
      iteration.max_s = std::max(iteration.max_s, delay_s);
      if (time != first) ++counts[bin_of(delay_s)];
    }
    arrivals.mean_s += iteration.mean_s / static_cast<double>(roots.size());
    arrivals.max_s = std::max(arrivals.max_s, iteration.max_s);
    arrivals.iterations.push_back(iteration);
  }
  while (counts.back() == 0) counts.pop_back();
  for (std::size_t bin = 0; bin < counts.size(); ++bin)
    arrivals.histogram.push_back({std::ldexp(kFirstBin_s, static_cast<int>(bin)), counts[bin]});
  return arrivals;
}

}  // namespace coracle::asp
