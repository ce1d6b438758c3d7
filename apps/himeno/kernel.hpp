// Himeno's innermost loops, one variant for each instruction set, all of which give the same bits; and the sum of
// squares that Himeno calls gosa, without rounding by order: terms may be added in any order and grouping, on any
// number of ranks, and the result is the same to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::himeno {

/// A fixed-point number of 128 bits in units of 2^-89. Each square, at most 128, is rounded to a multiple of the unit
/// before it is added; all else is integers. A square of floats has 48 bits, so that those above 2^-42 enter exactly.
/// Room for 2^38 squares of 1. A plain value, so that ranks can send it.
struct ExactSum {
  std::uint64_t low = 0;
  std::int64_t high = 0;

  /// Adds value * value.
  void add_square(float value) noexcept;
  /// Adds top * 2^-44 + rest * 2^-89: what a kernel has of many squares.
  void add_words(std::int64_t top, std::int64_t rest) noexcept;
  /// Adds the same of words of which each was added up by halves: rest's lower and upper one, top's lower and upper
  /// one. The lower ones have no sign.
  void add_halves(const std::uint64_t (&words)[4]) noexcept;
  /// The nearest double.
  double value() const noexcept;

  friend ExactSum operator+(const ExactSum& first, const ExactSum& second) noexcept;
  friend bool operator==(const ExactSum&, const ExactSum&) = default;
};

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
