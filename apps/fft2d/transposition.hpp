// The transposition of a grid that is spread over ranks, by one all_to_all of layouts: nobody packs anything.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <vector>

#include "apps/fft2d/strips.hpp"

namespace coracle::fft2d {

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

}  // namespace coracle::fft2d
