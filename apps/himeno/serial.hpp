// Himeno as its definition says it, point by point on one rank: what all else is compared with.
#pragma once

#include <cstddef>
#include <vector>

#include "apps/himeno/block.hpp"
#include "apps/himeno/exact_sum.hpp"

namespace coracle::himeno {

struct SerialRun {
  std::vector<ExactSum> sums;   ///< Of each step.
  std::vector<float> pressure;  ///< Of the whole grid: i, j, k.
};

/// `steps` of Jacobi from the beginning, on a grid of `size` points.
SerialRun run_serially(const Triple& size, std::size_t steps);

/// What differs first between the serial run and another's sums and pressure, as a sentence; "" when all bits are
/// equal.
std::string difference(const SerialRun& serial, const std::vector<ExactSum>& sums, const std::vector<float>& pressure,
                       const Triple& size);

}  // namespace coracle::himeno
