// How far the cost model's choice is from the best.
#pragma once

#include <span>

#include "apps/bench/benchmarks.hpp"

namespace coracle::internals::bench {

/// Collective, between nodes. Broadcasts `values` in all ways that make sense, and reports a row.
Task<> compare_choices(Bench& bench, std::span<double> values);

}  // namespace coracle::internals::bench
