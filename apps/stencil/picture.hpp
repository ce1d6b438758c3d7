// A field of temperatures as a picture: PNG in colours where libpng is there, PGM in greys everywhere.
#pragma once

#include <string>

#include "apps/stencil/heat_colours.hpp"

namespace coracle::stencil {

/// "png" or, without libpng, "pgm".
const char* best_picture_extension() noexcept;

/// Writes PNG or PGM by the path's extension (.png, .pgm). Throws Error: Errc::bad_input for other extensions,
/// Errc::unsupported for .png without libpng, and the system's error where the file can't be written.
void write_picture(const std::string& path, const Field& field);

}  // namespace coracle::stencil
