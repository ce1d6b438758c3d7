// A low-pass filter of pictures: what changes within few pixels goes, as noise and fine detail do.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <vector>

#include "apps/fft2d/pnm.hpp"
#include "apps/fft2d/transform.hpp"

namespace coracle::fft2d {

/// What the filter leaves of a frequency: (row, column) of a transform of `rows` x `columns`. Half of what changes
/// `cutoff` times per pixel (in any direction), by a Gaussian: it leaves no rings around edges. `cutoff` > 0.
double gain(std::size_t row, std::size_t column, std::size_t rows, std::size_t columns, double cutoff) noexcept;

/// Collective, with the same size and cutoff everywhere. Rank 0 gives a picture and gets it filtered; elsewhere both
/// are not looked at, and empty. The picture's borders are taken to meet: left and right, top and bottom.
Task<Picture> low_pass(Transform& transform, Rank& self, Picture picture, std::size_t channels, double cutoff);

/// The same by one rank alone, by FFTW's transform of a whole grid.
Picture low_pass_alone(const Picture& picture, double cutoff);

}  // namespace coracle::fft2d
