// PageMap: which home has a page, and as which of its own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "storage/options/paged_options.hpp"

namespace coracle::internals::storage {

struct PageMap {
  std::uint64_t pages = 0;
  std::uint32_t homes = 1;
  HomeSpread spread = HomeSpread::cyclic;

  std::uint64_t block() const noexcept { return (pages + homes - 1) / homes; }
  std::uint32_t home_of(std::uint64_t page) const noexcept {
    switch (spread) {
      case HomeSpread::cyclic:
        return static_cast<std::uint32_t>(page % homes);
      case HomeSpread::block:
        return static_cast<std::uint32_t>(page / block());
      case HomeSpread::one:
        break;
    }
    return 0;
  }
  /// The page's number in the file of its home.
  std::uint64_t place_of(std::uint64_t page) const noexcept {
    switch (spread) {
      case HomeSpread::cyclic:
        return page / homes;
      case HomeSpread::block:
        return page % block();
      case HomeSpread::one:
        break;
    }
    return page;
  }
  /// How many pages a home has.
  std::uint64_t pages_of(std::uint32_t home) const noexcept {
    switch (spread) {
      case HomeSpread::cyclic:
        return pages / homes + (home < pages % homes ? 1 : 0);
      case HomeSpread::block:
        return std::min(block(), pages - std::min(pages, home * block()));
      case HomeSpread::one:
        break;
    }
    return home == 0 ? pages : 0;
  }
};

}  // namespace coracle::internals::storage
