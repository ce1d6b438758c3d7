// Colours, and the choice between the two formats; the PGM writer.
#include "apps/stencil/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <string_view>
#include <utility>

#include "apps/stencil/picture_file.hpp"
#include "runtime/assert.hpp"

#include <coracle/error.hpp>

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

void write_pgm(const std::string& path, const Field& field) {
  PictureFile file(path);
  file.write(fmt::format("P5\n{} {}\n255\n", field.width, field.height));
  std::string row(field.width, '\0');
  for (std::size_t y = 0; y < field.height; ++y) {
    for (std::size_t x = 0; x < field.width; ++x) {
      row[x] = static_cast<char>(colour_index(field, field.values[y * field.width + x]));
    }
    file.write(row);
  }
  file.close();
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

void write_picture(const std::string& path, const Field& field) {
  CORACLE_ASSERT(field.values.size() == field.width * field.height && !field.values.empty(), "{} values for {} x {}",
                 field.values.size(), field.width, field.height);
  if (path.ends_with(".pgm")) return write_pgm(path, field);
  if (path.ends_with(".png")) return write_png(path, field);
  throw Error(Errc::bad_input, fmt::format("{}: a picture's name ends in .png or .pgm; rename it", path));
}

PictureFile::PictureFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wbe")) {
  if (!file_) throw_errno(errno, fmt::format("can't create {}", path));
}

PictureFile::~PictureFile() {
  if (file_) std::fclose(file_);
}

void PictureFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    throw_errno(errno, fmt::format("can't write {}", path_));
  }
}

void PictureFile::close() {
  if (std::fclose(std::exchange(file_, nullptr)) != 0) throw_errno(errno, fmt::format("can't write {}", path_));
}

}  // namespace coracle::stencil
