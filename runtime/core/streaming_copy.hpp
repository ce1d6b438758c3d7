// Copies whose target goes past the caches to memory: for more data at a time than the caches hold, where reading each
// line of the target first, as ordinary stores do, would only cost bandwidth.
#pragma once

#include <cstddef>
#include <span>

namespace coracle::internals {

enum class Copying {
  by_caches,    ///< As a memcpy.
  past_caches,  ///< See streaming_copy().
};

/// As a memcpy of `source` to `target`, by non-temporal stores where the processor has them. What it has written is
/// visible to others as after ordinary stores.
void streaming_copy(std::span<const std::byte> source, std::byte* target) noexcept;

/// Bytes of the last level of cache; a usual size where the system does not tell.
std::size_t last_level_cache_bytes();

}  // namespace coracle::internals
