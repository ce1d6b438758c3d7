// What the readers of network models and fault plans share.
#pragma once

#include <string>
#include <string_view>

namespace coracle::internals::sim {

/// Without the white space around it.
std::string_view trimmed(std::string_view text) noexcept;
/// Quotes what a file holds, which may be anything.
std::string quoted(std::string_view text);
/// All of a short file. `what` it should be, for messages: "network model". Throws Error when it can't be read, or is
/// too large to be that.
std::string read_text(const std::string& path, const char* what);

}  // namespace coracle::internals::sim
