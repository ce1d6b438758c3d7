// The PNG writer, which is there or not.
#pragma once

#include <string>

#include "apps/stencil/heat_colours.hpp"

namespace coracle::stencil {

/// Whether the project was built with libpng.
bool can_write_png() noexcept;

/// Throws Error(Errc::unsupported) where it can't.
void write_png(const std::string& path, const Field& field);

}  // namespace coracle::stencil
