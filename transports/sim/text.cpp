// Reading short files of text.
#include "transports/sim/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>

#include "runtime/core/error.hpp"

namespace coracle::internals::sim {

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string safe;
  for (const char letter : text.substr(0, kLongest)) safe += letter >= ' ' && letter <= '~' ? letter : '?';
  return fmt::format("'{}{}'", safe, text.size() > kLongest ? "..." : "");
}

std::string read_text(const std::string& path, const char* what) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_errno(errno, fmt::format("can't open the {} {}", what, path));
  // It has a few hundred bytes: whatever is larger is something else.
  std::string text(64 * 1024, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw_errno(errno, fmt::format("can't read the {} {}", what, path));
  const auto bytes = static_cast<std::size_t>(file.gcount());
  if (bytes == text.size())
    throw Error(Errc::bad_input, fmt::format("{}: too large for a {}, which has a few lines of text", path, what));
  text.resize(bytes);
  return text;
}

}  // namespace coracle::internals::sim
