// How the points are shared by the ranks: a block of the inner ones for each. The outermost points of the grid never
// change; they are the halo of the blocks beside them. And a rank's arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "apps/himeno/kernel.hpp"

namespace coracle::himeno {

/// Of i, j and k.
using Triple = std::array<std::size_t, 3>;

/// "IxJxK"; none when the text is something else, or a number is 0 or above 2^20.
std::optional<Triple> parse_triple(const std::string& text);
std::string to_text(const Triple& triple);

inline std::size_t product(const Triple& triple) noexcept {
  return triple[0] * triple[1] * triple[2];
}
/// Of so many points in all, those that change.
inline Triple inner(const Triple& size) noexcept {
  return {size[0] - 2, size[1] - 2, size[2] - 2};
}

/// The best arrangement of so many ranks, i x j x k: with the fewest points on the cuts, of which those across k count
/// more, since there each point lies by itself. None when there is no arrangement with a point for each rank.
std::optional<Triple> arrange(std::uint32_t ranks, const Triple& size);

/// A rank's points: those from `first` on in the whole grid, `count` of them. In the rank's arrays they are (1, 1, 1)
/// to `count`, and the halo lies at 0 and count + 1. Points that are neighbours in k are so in memory; rows begin so
/// that point 1 of each is aligned for vectors.
class Block {
 public:
  /// `size`: of the whole grid, its outermost points included. Every rank has a point at least. Ranks are numbered with
  /// k as the fastest.
  Block(const Triple& size, const Triple& ranks, std::uint32_t rank);

  const Triple& first() const noexcept { return first_; }
  const Triple& count() const noexcept { return count_; }
  /// Where this rank is among the ranks.
  const Triple& place() const noexcept { return place_; }

  std::size_t row() const noexcept { return row_; }                          ///< Floats from j to j + 1.
  std::size_t plane() const noexcept { return (count_[1] + 2) * row_; }      ///< Floats from i to i + 1.
  std::size_t floats() const noexcept { return (count_[0] + 2) * plane(); }  ///< Of an array.
  /// Where a point lies in an array.
  std::size_t at(std::size_t i, std::size_t j, std::size_t k) const noexcept {
    return i * plane() + j * row_ + k + kLanesMax - 1;
  }
  /// All points of this rank.
  Box all() const noexcept;

 private:
  Triple first_;
  Triple count_;
  Triple place_;
  std::size_t row_;
};

/// The pressure that the benchmark begins with, at the i-th of `count` planes of the whole grid.
inline float first_pressure(std::size_t i, std::size_t count) noexcept {
  return static_cast<float>(i * i) / static_cast<float>((count - 1) * (count - 1));
}

/// Fills an array of the pressure, halo included, with it.
void fill_pressure(const Block& block, const Triple& size, float* array);

/// The twelve arrays of a Coefficients, and the value that each has everywhere at the benchmark's beginning.
struct Constant {
  const float** array;
  float value;
};
std::array<Constant, 12> constants_of(Coefficients& of) noexcept;

/// The coefficients, bnd and wrk1 as the benchmark has them. (They are constant, but no kernel knows that.)
class Fields {
 public:
  explicit Fields(const Block& block);
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  const Coefficients& coefficients() const noexcept { return coefficients_; }

 private:
  struct Free {
    void operator()(float* memory) const noexcept;
  };
  std::unique_ptr<float, Free> memory_;
  Coefficients coefficients_;
};

}  // namespace coracle::himeno
