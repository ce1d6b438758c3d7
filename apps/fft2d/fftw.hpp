// The serial transforms, by FFTW: many rows, or a whole grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "apps/fft2d/strips.hpp"

struct fftw_plan_s;

namespace coracle::fft2d {

/// Neither is scaled: forward and backward in a row multiply by the number of elements.
enum class Direction : std::uint8_t { forward, backward };

/// In place, of memory that is known when it is made; whose contents are lost then.
class Plan {
 public:
  /// `rows` transforms of `length` elements each, row after row.
  static Plan of_rows(Complex* grid, std::size_t rows, std::size_t length, Direction direction);
  /// In both dimensions.
  static Plan of_grid(Complex* grid, std::size_t rows, std::size_t columns, Direction direction);

  void run() const noexcept;

 private:
  struct Destroy {
    void operator()(fftw_plan_s* plan) const noexcept;
  };
  explicit Plan(fftw_plan_s* plan) noexcept : plan_(plan) {}

  std::unique_ptr<fftw_plan_s, Destroy> plan_;  // null: nothing to do
};

}  // namespace coracle::fft2d
