// Himeno's innermost loops, one variant for each instruction set. All give the same bits.
#pragma once

#include <cstddef>

#include "apps/himeno/exact_sum.hpp"

namespace coracle::himeno {

inline constexpr float kOmega = 0.8F;         ///< Of the change, what is made of it.
inline constexpr std::size_t kLanesMax = 16;  ///< Floats in the longest vector.

/// The coefficients of a rank's points. All arrays, and those of the pressure, have the same strides; pointers are to
/// the point (0, 0, 0), which is a corner of the halo.
struct Coefficients {
  const float* a[4];
  const float* b[3];
  const float* c[3];
  const float* bnd;
  const float* wrk1;
  std::size_t plane;  ///< Floats from i to i + 1.
  std::size_t row;    ///< Floats from j to j + 1.
};

/// Points [begin, end) in i, j and k.
struct Box {
  std::size_t begin[3];
  std::size_t end[3];

  bool empty() const noexcept { return begin[0] >= end[0] || begin[1] >= end[1] || begin[2] >= end[2]; }
};

/// A kernel for one instruction set.
struct Kernel {
  const char* name;

  /// One step of Jacobi on the points of `box`, from `pressure` to `next`. Their changes' squares are added to `sum`.
  void (*relax)(const Coefficients& of, const float* pressure, float* next, const Box& box, ExactSum& sum);

  /// What memory alone allows: reads and writes the same 14 arrays, with nothing but sums between.
  void (*stream)(const Coefficients& of, const float* pressure, float* next, const Box& box);
};

extern const Kernel kBaselineKernel;
#if defined(__x86_64__)
extern const Kernel kAvx2Kernel;
extern const Kernel kAvx512Kernel;
#endif

}  // namespace coracle::himeno
