// Drawing delays, and what they cost in closed form.
#include "apps/bench/arrival/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "transports/sim/random.hpp"

namespace coracle::internals::bench {
namespace {

using sim::Random;

/// The same for each seed, rank and iteration, in (0, 1).
double draw(std::uint64_t seed, std::uint32_t rank, std::uint64_t iteration) noexcept {
  const std::uint64_t mixed = Random::mix(Random::mix(Random::mix(seed + 1) ^ rank) + iteration);
  return (static_cast<double>(mixed >> 11) + 0.5) * 0x1p-53;
}

/// The integral of `function` over [0, arrivals.longest()].
template <class Function>
double integral(const Arrivals& arrivals, Function function) {
  constexpr int kSteps = 20'000;
  const double step = arrivals.longest() / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum += function((i + 0.5) * step);
  return sum * step;
}

/// How likely the least of `competitors` delays is to be at most `value`.
double first_likely(const Arrivals& arrivals, std::uint32_t competitors, double value) noexcept {
  return 1 - std::pow(1 - arrivals.likely(value), competitors);
}

}  // namespace

Arrivals::Arrivals(std::string source, std::uint64_t seed) : source_(std::move(source)), seed_(seed) {
  kind_ = source_ == "uniform" ? Kind::uniform : source_ == "exponential" ? Kind::exponential : Kind::trace;
  if (kind_ == Kind::trace) take(read_arrival_trace(source_));
}

Arrivals::Arrivals(const ArrivalTrace& trace, std::uint64_t seed) : source_("trace"), kind_(Kind::trace), seed_(seed) {
  take(trace);
}

void Arrivals::take(const ArrivalTrace& trace) {
  const double sum = std::accumulate(trace.delays_ns.begin(), trace.delays_ns.end(), 0.0);
  const double mean = sum / static_cast<double>(trace.delays_ns.size());
  ranks_ = trace.ranks;
  delays_.reserve(trace.delays_ns.size());
  for (const double delay : trace.delays_ns) delays_.push_back(static_cast<float>(delay / mean / 2));
  sorted_ = delays_;
  std::sort(sorted_.begin(), sorted_.end());
}

double Arrivals::delay(std::uint32_t rank, std::uint64_t iteration) const noexcept {
  switch (kind_) {
    case Kind::uniform:
      return draw(seed_, rank, iteration);
    case Kind::exponential:
      return -std::log(draw(seed_, rank, iteration)) / 2;
    case Kind::trace:
      break;
  }
  // Each copy of the recorded ranks begins at an iteration of its own, so that they do not come in step.
  const std::uint64_t rows = delays_.size() / ranks_;
  const auto offset = static_cast<std::uint64_t>(draw(seed_, rank / ranks_, 0) * static_cast<double>(rows));
  return delays_[(iteration + offset) % rows * ranks_ + rank % ranks_];
}

double Arrivals::likely(double value) const noexcept {
  if (value < 0) return 0;
  switch (kind_) {
    case Kind::uniform:
      return std::min(value, 1.0);
    case Kind::exponential:
      return 1 - std::exp(-2 * value);
    case Kind::trace:
      break;
  }
  const auto later = std::upper_bound(sorted_.begin(), sorted_.end(), static_cast<float>(value));
  return static_cast<double>(later - sorted_.begin()) / static_cast<double>(sorted_.size());
}

double Arrivals::longest() const noexcept {
  constexpr double kExponentialLongest = 20;  // where exp(-2 x) is 4e-18
  if (kind_ == Kind::trace) return sorted_.back();
  return kind_ == Kind::uniform ? 1 : kExponentialLongest;
}

double expected_reach(const Arrivals& arrivals, std::uint32_t hops, std::uint32_t competitors) {
  // E[max] is the integral of how likely the maximum is to be larger; E[A] is that of how likely A is.
  return integral(arrivals, [&](double value) {
    const double own = arrivals.likely(value);
    return own * (1 - std::pow(first_likely(arrivals, competitors, value), hops));
  });
}

double expected_wait(const Arrivals& arrivals, std::uint32_t leaders, std::uint32_t competitors) {
  // E[max(0, X - B)] is the integral of how likely B <= value < X is.
  return integral(arrivals, [&](double value) {
    const double own = arrivals.likely(value);
    return own * (1 - own * std::pow(first_likely(arrivals, competitors, value), leaders));
  });
}

double expected_first(const Arrivals& arrivals, std::uint32_t competitors) {
  return integral(arrivals, [&](double value) { return std::pow(1 - arrivals.likely(value), competitors); });
}

}  // namespace coracle::internals::bench
