// What `himeno` says, line by line as the original does, and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/himeno/block.hpp"
#include "apps/himeno/kernel.hpp"

namespace coracle::himeno {

inline constexpr double kFlopsPerPoint = 34;

/// Some iterations that were timed.
struct Measured {
  std::size_t iterations = 0;
  double seconds = 0;  ///< Of the slowest rank.
  double gosa = 0;     ///< The last one's residual.
};

struct Report {
  std::string size_name;
  Triple size = {};
  Triple ranks = {};
  std::string placement;
  std::uint32_t nodes = 1;
  std::string kernel;
  Measured rehearsal;
  Measured measured;
  double memory_s = 0;  ///< In which memory alone passes through the arrays once; 0: not known.
  bool verified = false;

  /// Millions of operations per second, 34 a point; 0 where no time has passed.
  double mflops(const Measured& what) const;
  /// What the memory allows; 0: not known.
  double limit_mflops() const;
  /// Of the arrays' bytes.
  double limit_bytes_per_s() const;
};

std::string beginning_text(const Report& report);
std::string rehearsal_text(const Report& report);
/// How many iterations follow, and how long that will take.
std::string plan_text(std::size_t iterations, double seconds);
std::string result_text(const Report& report);
std::string to_json(const Report& report);

/// A line for each iteration: its number and its residual, so that it can be read back to the last bit.
std::string history_text(const std::vector<ExactSum>& sums);

}  // namespace coracle::himeno
