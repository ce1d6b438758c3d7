// The transform of a grid whose rows are spread over ranks: each rank transforms its rows, all transpose, each
// transforms its columns, which are rows now, and all transpose back. The serial transforms are FFTW's; a transposition
// is one all_to_all of layouts: nobody packs anything.
//
// And what it is for: a low-pass filter of pictures. What changes within few pixels goes, as noise and fine detail do.
#pragma once

#include <coracle/coracle.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "apps/fft2d/pnm.hpp"
#include "collectives/data/scratch.hpp"

struct fftw_plan_s;

namespace coracle::fft2d {

using Complex = std::complex<double>;

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

/// A grid's rows, as evenly as can be divided among ranks.
struct Strips {
  std::size_t rows;
  std::uint32_t ranks;

  std::size_t first(std::uint32_t rank) const noexcept { return rows * rank / ranks; }
  std::size_t count(std::uint32_t rank) const noexcept { return first(rank + 1) - first(rank); }
  /// Whether all have equally many.
  bool even() const noexcept { return rows % ranks == 0; }
  /// In all ranks' rows of so many elements.
  std::vector<std::size_t> elements_of_all(std::size_t length) const;
};

/// With the layouts of fft2d_datatype of Shimada et al. (IPSJ 2016) and FFT2 of DDTBench, on changed sides: a member
/// sends tiles of its rows, which are blocks of some length; a receiver has them element by element, as columns, each a
/// vector that is resized so that columns follow one another. Memory of others is so read in rows.
class Transposition {
 public:
  /// Of `rows` x `columns` elements, whose rows and, transposed, columns are dealt to the team by Strips.
  Transposition(Team& team, std::size_t rows, std::size_t columns);

  /// `mine`: this member's rows; `transposed`: its columns, as rows.
  Task<> run(const Complex* mine, Complex* transposed) const;

 private:
  Team& team_;
  Strips rows_;
  Strips columns_;
  std::vector<Layout> tiles_;  // for each member
  Layout column_;              // of this member's transposed rows
};

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

/// What the filter leaves of a frequency: (row, column) of a transform of `rows` x `columns`. Half of what changes
/// `cutoff` times per pixel (in any direction), by a Gaussian: it leaves no rings around edges. `cutoff` > 0.
double gain(std::size_t row, std::size_t column, std::size_t rows, std::size_t columns, double cutoff) noexcept;

/// Collective, with the same size and cutoff everywhere. Rank 0 gives a picture and gets it filtered; elsewhere both
/// are not looked at, and empty. The picture's borders are taken to meet: left and right, top and bottom.
Task<Picture> low_pass(Transform& transform, Rank& self, Picture picture, std::size_t channels, double cutoff);

/// The same by one rank alone, by FFTW's transform of a whole grid.
Picture low_pass_alone(const Picture& picture, double cutoff);

}  // namespace coracle::fft2d
