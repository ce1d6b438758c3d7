// The choice between the two formats; the PGM writer.
#include "apps/stencil/picture.hpp"

#include <fmt/format.h>

#include "apps/stencil/picture_file.hpp"
#include "apps/stencil/picture_png.hpp"
#include "runtime/core/assert.hpp"

#include <coracle/error.hpp>

namespace coracle::stencil {
namespace {

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

const char* best_picture_extension() noexcept {
  return can_write_png() ? "png" : "pgm";
}

void write_picture(const std::string& path, const Field& field) {
  CORACLE_ASSERT(field.values.size() == field.width * field.height && !field.values.empty(), "{} values for {} x {}",
                 field.values.size(), field.width, field.height);
  if (path.ends_with(".pgm")) return write_pgm(path, field);
  if (path.ends_with(".png")) return write_png(path, field);
  throw Error(Errc::bad_input, fmt::format("{}: a picture's name ends in .png or .pgm; rename it", path));
}

}  // namespace coracle::stencil
