// ArrivalSamples: when each rank came to the broadcasts of one case and had their data, and what all ranks together
// make of it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

/// Of one rank, in nanoseconds of the clock that all ranks share (one machine's, or virtual), by iteration.
struct ArrivalSamples {
  std::vector<double> released;  ///< It came out of the barrier.
  std::vector<double> begun;     ///< It came to the broadcast.
  std::vector<double> ended;     ///< It had the data.
};

/// Of all ranks; times in nanoseconds.
struct ArrivalSummary {
  static constexpr std::size_t kBins = 20;
  /// How late someone came after the first rank was out of the barrier, over all iterations and nodes.
  struct Lateness {
    double mean = 0;
    std::array<double, kBins> share{};  ///< Of arrivals in each twentieth of [0, K]; the last has all later ones.
  };

  double slowest = 0;   ///< Mean time in the broadcast, of the rank for which that is longest.
  double mean = 0;      ///< The same, over all ranks.
  double fastest = 0;   ///< The same, of the rank for which that is shortest.
  double complete = 0;  ///< From the root's arrival until every rank has the data, mean over iterations.
  double reach = 0;     ///< From the root's arrival until a rank of another node has the data, mean over nodes.
  Lateness leader;      ///< Each node's first rank, the fixed leader.
  Lateness first;       ///< The first rank of each node to come.
};

/// Collective. `delay_ns`: K, for the shares.
Task<ArrivalSummary> sum_up(Rank& self, ArrivalSamples samples, double delay_ns);

}  // namespace coracle::internals::bench
