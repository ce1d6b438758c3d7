#include "storage/pages/page_errors.hpp"

#include <fmt/core.h>

namespace coracle::internals::storage {

Error closed_error() {
  return {std::make_error_code(std::errc::bad_file_descriptor), "the paged segment is closed"};
}

Error PageErrors::of(std::uint64_t page, PageFailure failure) const {
  const std::uint32_t home = caches_.home_of(page);
  const std::string where =
      fmt::format("page {} of the paged segment {}.{} (home: rank {})", page, path_, home, caches_.peer(home).rank);
  // Only who has the home knows more.
  const std::string more = home == caches_.own() && home_ != nullptr ? fmt::format(" ({})", home_->last_failure()) : "";
  switch (failure) {
    case PageFailure::lost:
      return {Errc::page_lost,
              fmt::format("{}: lost with the node that had its only current copy; write the whole page "
                          "anew, or open the last checkpoint",
                          where)};
    case PageFailure::damaged:
      return {Errc::page_damaged,
              fmt::format("{}: does not match its checksum; `coracle pages check` tells which do not{}", where, more)};
    case PageFailure::no_space:
      return {std::make_error_code(std::errc::no_space_on_device),
              fmt::format("{}: no space left on its device; the page is still in the cache: make room there and flush "
                          "again{}",
                          where, more)};
    case PageFailure::closed:
      return {std::make_error_code(std::errc::bad_file_descriptor),
              fmt::format("{}: its home has closed the segment, or could not make it", where)};
    default:
      return {std::make_error_code(std::errc::io_error),
              fmt::format("{}: its file can't be read or written{}", where, more)};
  }
}

Error PageErrors::home_lost(std::uint64_t page) const {
  const std::uint32_t home = caches_.home_of(page);
  return {Errc::peer_lost, fmt::format("page {} of the paged segment {}.{}: its home, rank {}, is lost", page, path_,
                                       home, caches_.peer(home).rank)};
}

}  // namespace coracle::internals::storage
