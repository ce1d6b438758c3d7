// Which lines are the program's, and which the library's own: whoever explains a wait names the former.
#pragma once

#include <source_location>

namespace coracle::internals {

/// Whether a place is one of the library's sources, or of its headers, wherever these are installed. One without a line
/// counts as the library's.
bool is_of_library(const std::source_location& where) noexcept;

}  // namespace coracle::internals
