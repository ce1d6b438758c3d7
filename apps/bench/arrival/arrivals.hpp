// Arrivals: how late each rank comes to each iteration of a benchmark: drawn from a distribution, or as recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/bench/arrival/arrival_trace.hpp"

namespace coracle::internals::bench {

/// Delays in units of K, the same in every run with the same seed. Their mean is 1/2 whatever the distribution, as for
/// uniform delays in [0, K], so that distributions can be compared.
class Arrivals {
 public:
  /// `source`: "uniform", "exponential", or the path of a trace, whose delays are scaled. Throws Error for a bad trace.
  Arrivals(std::string source, std::uint64_t seed);
  Arrivals(const ArrivalTrace& trace, std::uint64_t seed);

  const std::string& source() const noexcept { return source_; }
  double delay(std::uint32_t rank, std::uint64_t iteration) const noexcept;
  /// How likely a delay is to be at most `value`; of a trace, how often it is.
  double likely(double value) const noexcept;
  /// Hardly any delay is longer.
  double longest() const noexcept;

 private:
  enum class Kind { uniform, exponential, trace };
  void take(const ArrivalTrace& trace);

  std::string source_;
  Kind kind_;
  std::uint64_t seed_;
  // Of a trace:
  std::uint32_t ranks_ = 0;
  std::vector<float> delays_;
  std::vector<float> sorted_;
};

/// How long the first piece of a message takes through a chain of nodes, each of which needs its leader, is longer by
/// this than with all ranks there from the start, on average: E[max(A, L_1, ... L_hops) - A], where A is the root's
/// delay and L_i the least of `competitors` delays (one for a fixed leader). For uniform delays and one hop: 1/6 with a
/// fixed leader, 1 / ((n + 1) (n + 2)) for the first of n.
double expected_reach(const Arrivals& arrivals, std::uint32_t hops, std::uint32_t competitors);

/// How long a rank waits in the broadcast, longer than with all ranks there from the start, on average:
/// E[max(0, max(A, L_1, ... L_leaders) - B)], where B is its own delay, independent of the others. (Its own node's
/// leader, where that is the first to come, is never behind it, so must not be counted among the leaders.)
double expected_wait(const Arrivals& arrivals, std::uint32_t leaders, std::uint32_t competitors);

/// The mean of the least of `competitors` delays.
double expected_first(const Arrivals& arrivals, std::uint32_t competitors);

}  // namespace coracle::internals::bench
