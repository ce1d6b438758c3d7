// A field of temperatures as a picture: PNG in colours where libpng is there, PGM in greys everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace coracle::stencil {

/// `values` row by row from the top, width * height of them; the caller owns them.
struct Field {
  std::span<const float> values;
  std::size_t width;
  std::size_t height;
  float coldest = 0;  ///< shown as the first colour, as is all below it
  float hottest = 1;  ///< shown as the last colour, as is all above it
};

struct Colour {
  std::uint8_t red;
  std::uint8_t green;
  std::uint8_t blue;
};

/// From black over purple, red and orange to pale yellow: growing lightness, as in matplotlib's inferno.
const std::array<Colour, 256>& heat_colours();

/// Where a value lies in the colour table; NaN counts as coldest.
std::uint8_t colour_index(const Field& field, float value) noexcept;

/// "png" or, without libpng, "pgm".
const char* best_picture_extension() noexcept;

/// Writes PNG or PGM by the path's extension (.png, .pgm). Throws Error: Errc::bad_input for other extensions,
/// Errc::unsupported for .png without libpng, and the system's error where the file can't be written.
void write_picture(const std::string& path, const Field& field);

}  // namespace coracle::stencil
