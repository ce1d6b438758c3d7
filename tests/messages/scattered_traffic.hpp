// Messages from random layouts into other random layouts, compared with typemaps written out byte by byte.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>

namespace coracle::internals::test {

struct ScatteredOptions {
  std::uint64_t seed = 1;
  std::uint32_t messages = 4;           ///< Of each member to each, itself too.
  std::uint64_t bytes_max = 64 * 1024;  ///< Of the longest, about.
  bool sleeps = true;                   ///< Senders and receivers are late at times.
};

/// Every member calls it, with the same options. Throws std::runtime_error when a byte has not come to its place, or
/// another has been touched.
Task<> run_scattered(Team& team, ScatteredOptions options);

}  // namespace coracle::internals::test
