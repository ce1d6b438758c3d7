// A rank's arrays.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "apps/himeno/block.hpp"
#include "apps/himeno/kernel.hpp"

namespace coracle::himeno {

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
