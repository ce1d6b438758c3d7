// The sum of squares that Himeno calls gosa, without rounding by order: terms may be added in any order and grouping,
// on any number of ranks, and the result is the same to the last bit.
#pragma once

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

}  // namespace coracle::himeno
