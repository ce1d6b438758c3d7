// The message that all collectives have for sizes that differ.
#include "collectives/data/sizes.hpp"

#include <fmt/format.h>

#include "runtime/core/error.hpp"

namespace coracle::internals {

void throw_sizes_differ(std::size_t here, std::size_t there, std::uint32_t rank) {
  throw Error(Errc::bad_input, fmt::format("a collective was called with {} bytes here and with {} bytes on rank {}: "
                                           "all members must give the same size",
                                           here, there, rank));
}

}  // namespace coracle::internals
