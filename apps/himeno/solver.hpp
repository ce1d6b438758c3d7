// Himeno on one rank of several: steps of Jacobi, in which the points at the cuts come first, so that they travel while
// the others are made.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "apps/himeno/block.hpp"
#include "apps/himeno/exact_sum.hpp"
#include "apps/himeno/fields.hpp"
#include "apps/himeno/halo.hpp"
#include "apps/himeno/kernel.hpp"

namespace coracle::himeno {

class Solver {
 public:
  /// `size`: points in each dimension; `ranks`: how the ranks are arranged. `points_per_s`: in placement `sim`, how
  /// many points this rank makes in a second of virtual time; 0: they take none.
  Solver(Rank& self, const Triple& size, const Triple& ranks, const Kernel& kernel, double points_per_s);

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
  Task<> make(const Box& box, ExactSum& sum);
  float* pressure(std::uint64_t state) noexcept { return pressure_.data() + state % 2 * block_.floats(); }

  Rank& self_;
  Triple size_;
  Triple ranks_;
  const Kernel& kernel_;
  double points_per_s_;
  Block block_;
  Fields fields_;
  Slab<float> pressure_;  // two arrays
  Halo halo_;
  std::vector<Box> shell_;  // the points that need or make a halo
  Box core_;                // all others
  std::uint64_t state_ = 0;
};

}  // namespace coracle::himeno
