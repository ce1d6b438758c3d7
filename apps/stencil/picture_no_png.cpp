// Stands in for picture_png.cpp where libpng is not there.
#include <fmt/format.h>

#include <coracle/error.hpp>
#include "apps/stencil/picture_png.hpp"

namespace coracle::stencil {

bool can_write_png() noexcept {
  return false;
}

void write_png(const std::string& path, const Field&) {
  throw Error(
      Errc::unsupported,
      fmt::format("{}: built without libpng; name the picture .pgm, or install libpng-dev and build again", path));
}

}  // namespace coracle::stencil
