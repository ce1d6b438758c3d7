// The colour table.
#include "apps/stencil/heat_colours.hpp"

#include <algorithm>
#include <cmath>

namespace coracle::stencil {
namespace {

// Inferno at steps of 1/8; between them, straight lines.
constexpr Colour kAnchors[] = {{0, 0, 4},     {31, 12, 72},   {85, 15, 109},  {136, 34, 106}, {186, 54, 85},
                               {227, 89, 51}, {249, 140, 10}, {249, 201, 50}, {252, 255, 164}};

std::array<Colour, 256> make_heat_colours() {
  std::array<Colour, 256> colours{};
  for (std::size_t i = 0; i < colours.size(); ++i) {
    const double place = static_cast<double>(i) / 255 * (std::size(kAnchors) - 1);
    const std::size_t below = std::min(static_cast<std::size_t>(place), std::size(kAnchors) - 2);
    const auto mix = [&](std::uint8_t from, std::uint8_t to) {
      return static_cast<std::uint8_t>(std::lround(from + (to - from) * (place - static_cast<double>(below))));
    };
    const Colour& a = kAnchors[below];
    const Colour& b = kAnchors[below + 1];
    colours[i] = {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
  }
  return colours;
}

}  // namespace

const std::array<Colour, 256>& heat_colours() {
  static const std::array<Colour, 256> colours = make_heat_colours();
  return colours;
}

std::uint8_t colour_index(const Field& field, float value) noexcept {
  const float share = (value - field.coldest) / (field.hottest - field.coldest);
  if (!(share > 0)) return 0;
  return static_cast<std::uint8_t>(std::lround(std::min(share, 1.0F) * 255));
}

}  // namespace coracle::stencil
