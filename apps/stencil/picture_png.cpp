// The PNG writer, with libpng's simplified API (no setjmp): 8 bits per pixel into a table of 256 colours.
#include "apps/stencil/picture_png.hpp"

#include <png.h>

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include <coracle/error.hpp>
#include "apps/stencil/picture_file.hpp"

namespace coracle::stencil {

bool can_write_png() noexcept {
  return true;
}

void write_png(const std::string& path, const Field& field) {
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
  if (PNG_IMAGE_FAILED(image) || bytes.empty()) {
    throw Error(Errc::unsupported, fmt::format("can't make {}: libpng says {}", path, image.message));
  }
  PictureFile file(path);
  file.write(std::string_view(bytes).substr(0, size));
  file.close();
}

}  // namespace coracle::stencil
