// The transform of a grid whose rows are spread over ranks: each rank transforms its rows, all transpose, each
// transforms its columns, which are rows now, and all transpose back.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "apps/fft2d/fftw.hpp"
#include "apps/fft2d/strips.hpp"
#include "apps/fft2d/transposition.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::fft2d {

enum class Ways : std::uint8_t { forward, both };

/// Of one member of a team; all make one and call the same of it in the same order.
class Transform {
 public:
  /// Makes plans, which takes some seconds for large grids.
  Transform(Team& team, std::size_t rows, std::size_t columns, Ways ways);

  Strips rows() const noexcept { return rows_; }
  Strips columns() const noexcept { return columns_; }
  /// This member's rows of the grid.
  Complex* grid() const noexcept { return reinterpret_cast<Complex*>(grid_.data()); }
  /// Its columns, as rows.
  Complex* transposed() const noexcept { return reinterpret_cast<Complex*>(transposed_.data()); }

  /// From grid() to transposed().
  Task<> forward();
  /// Of Ways::both: from transposed() to grid(); with forward() before it multiplies by rows x columns.
  Task<> backward();
  /// What forward() leaves, back in the order of the grid.
  Task<> transpose_back();

  /// Seconds in transpositions since the last call, waiting for others included.
  double take_transposing_s() noexcept { return std::exchange(transposing_s_, 0); }

 private:
  Task<> transpose(const Transposition& transposition, const Complex* from, Complex* to);

  Team& team_;
  Strips rows_;
  Strips columns_;
  internals::Scratch grid_;
  internals::Scratch transposed_;
  Plan rows_forward_;
  Plan rows_backward_;
  Plan columns_forward_;
  Plan columns_backward_;
  Transposition there_;
  Transposition back_;
  double transposing_s_ = 0;
};

}  // namespace coracle::fft2d
