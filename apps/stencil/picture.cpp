// The colour table, and the two formats.
#include "apps/stencil/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#if defined(CORACLE_HAS_PNG)
#include <png.h>
#endif

#include <coracle/error.hpp>
#include "apps/common/file.hpp"
#include "runtime/core/assert.hpp"

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

namespace {

#if defined(CORACLE_HAS_PNG)

/// By libpng's simplified API (no setjmp): 8 bits per pixel into a table of 256 colours.
std::string to_png(const std::string& path, const Field& field) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(field.width);
  image.height = static_cast<png_uint_32>(field.height);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = static_cast<png_uint_32>(heat_colours().size());
  std::vector<png_byte> pixels(field.values.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = colour_index(field, field.values[i]);

  png_alloc_size_t size = 0;
  std::string bytes;
  if (png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, heat_colours().data())) {
    bytes.resize(size);
    png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, heat_colours().data());
  }
  if (PNG_IMAGE_FAILED(image) || bytes.empty())
    throw Error(Errc::unsupported, fmt::format("can't make {}: libpng says {}", path, image.message));
  bytes.resize(size);
  return bytes;
}

#else

std::string to_png(const std::string& path, const Field&) {
  throw Error(
      Errc::unsupported,
      fmt::format("{}: built without libpng; name the picture .pgm, or install libpng-dev and build again", path));
}

#endif

std::string to_pgm(const Field& field) {
  std::string bytes = fmt::format("P5\n{} {}\n255\n", field.width, field.height);
  for (const float value : field.values) bytes += static_cast<char>(colour_index(field, value));
  return bytes;
}

}  // namespace

const char* best_picture_extension() noexcept {
#if defined(CORACLE_HAS_PNG)
  return "png";
#else
  return "pgm";
#endif
}

void write_picture(const std::string& path, const Field& field) {
  CORACLE_ASSERT(field.values.size() == field.width * field.height && !field.values.empty(), "{} values for {} x {}",
                 field.values.size(), field.width, field.height);
  if (!path.ends_with(".pgm") && !path.ends_with(".png"))
    throw Error(Errc::bad_input, fmt::format("{}: a picture's name ends in .png or .pgm; rename it", path));
  write_whole(path.ends_with(".pgm") ? to_pgm(field) : to_png(path, field), path);
}

}  // namespace coracle::stencil
