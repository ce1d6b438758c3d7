// Himeno on one rank of several: steps of Jacobi, in which the points at the cuts come first, so that they travel while
// the others are made.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "apps/himeno/block.hpp"
#include "apps/himeno/device.hpp"
#include "apps/himeno/exact_sum.hpp"
#include "apps/himeno/halo.hpp"

namespace coracle::himeno {

class Solver {
 public:
  /// `size`: points in each dimension; `ranks`: how the ranks are arranged; `device` is made for the same, and outlives
  /// this.
  Solver(Rank& self, const Triple& size, const Triple& ranks, Device& device);

  /// Before connect(): seconds in which all ranks together pass through their arrays once with the least of sums, which
  /// is as fast as memory allows; the best of what fits `for_s` seconds. Collective. Not in `sim`.
  Task<double> time_memory(double for_s);

  /// Brings in the pressure of the beginning. Collective, once.
  Task<> connect();

  /// Makes so many steps more; gives each one's sum of squares over all ranks, the same everywhere. `progress` is
  /// called after each step. Collective.
  Task<std::vector<ExactSum>> run(std::size_t steps, std::function<void(std::size_t)> progress);

  /// The whole grid's pressure, i, j, k, at rank 0; empty elsewhere. Collective.
  Task<std::vector<float>> collect();

 private:
  static Task<> step_in(Scope& scope, Solver& solver, std::size_t steps, std::function<void(std::size_t)> progress,
                        std::vector<ExactSum>& sums);
  Task<> step(Scope& scope, ExactSum& sum);
  void divide();

  Rank& self_;
  Triple size_;
  Triple ranks_;
  Device& device_;
  Block block_;
  Halo halo_;
  // Parts of the device.
  std::size_t all_;
  std::optional<std::size_t> shell_;  // the points that need or make a halo
  std::vector<std::size_t> core_;     // all others, in pieces
  std::uint64_t state_ = 0;
};

}  // namespace coracle::himeno
