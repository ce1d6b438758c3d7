// By the names of files, as the compiler was given them.
#include "runtime/core/program_place.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace coracle::internals {
namespace {

/// From the folder on in which the compiler was started, or that of all sources.
std::string_view without_way(std::string_view file) noexcept {
  const std::size_t up = file.rfind("../");
  return up == std::string_view::npos ? file : file.substr(up + 3);
}

}  // namespace

bool is_of_library(const std::source_location& where) noexcept {
  constexpr std::array<std::string_view, 5> kFolders{"runtime/", "collectives/", "transports/", "storage/",
                                                     "interfaces/"};
  if (where.line() == 0) return true;
  const std::string_view file = where.file_name();
  const bool is_header = file.ends_with(".hpp");
  if (is_header && file.find("/coracle/") != std::string_view::npos) return true;
  const std::string_view own = std::source_location::current().file_name();
  const std::string_view way = own.substr(0, own.size() - without_way(own).size());
  if (!is_header && !file.starts_with(way)) return false;
  return std::ranges::any_of(kFolders, [&](std::string_view each) { return without_way(file).starts_with(each); });
}

}  // namespace coracle::internals
