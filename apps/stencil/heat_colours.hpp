// What colour a temperature has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace coracle::stencil
