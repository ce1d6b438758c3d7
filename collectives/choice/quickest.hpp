// Choosing by a model that errs.
#pragma once

#include <limits>

namespace coracle::internals {

/// The candidate of least `cost`, where a later one must cost less than `advantage` (below 1) times the best before it:
/// what the model can't tell apart is decided by the order. One made by default where there is none.
template <class Candidates, class Cost>
auto quickest(const Candidates& candidates, double advantage, const Cost& cost) {
  using Candidate = typename Candidates::value_type;
  double least = std::numeric_limits<double>::infinity();
  Candidate best{};
  for (const Candidate& candidate : candidates) {
    const double costs = cost(candidate);
    if (costs >= least * advantage) continue;
    least = costs;
    best = candidate;
  }
  return best;
}

}  // namespace coracle::internals
