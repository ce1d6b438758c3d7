// When the ranks came to the broadcast of each iteration: the unbalanced process arrival that a collective has to live
// with (as in figure 22 of the paper on competitive and pipelined broadcast).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace coracle::asp {

/// Delays are after the first rank of the same iteration.
struct Arrivals {
  struct Iteration {
    double mean_s;  ///< Over the ranks.
    double max_s;
    double root_s;  ///< Of the rank that has the data.
  };
  /// Delays below `below_s`, and not below that of the bin before.
  struct Bin {
    double below_s;
    std::uint64_t count;
  };

  std::uint32_t ranks = 0;
  std::vector<Iteration> iterations;
  std::vector<Bin> histogram;  ///< Of all delays but the first's, which are zero; powers of two.
  double mean_s = 0;           ///< Over the iterations.
  double max_s = 0;
};

/// `times_s`: of each iteration one per rank; `roots`: one per iteration. Of one rank there is nothing to say.
Arrivals arrivals_of(std::span<const double> times_s, std::span<const std::uint32_t> roots, std::uint32_t ranks);

}  // namespace coracle::asp
