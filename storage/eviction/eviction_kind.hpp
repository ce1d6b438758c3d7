// The kinds of eviction that there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/core/std_parts.hpp"

namespace coracle::internals::storage {

class Eviction;

/// lru: as in vGASNet (IPSJ HPC-160). arc: adaptive replacement (Megiddo and Modha, FAST '03) with a filter for
/// correlated references: hits within the last capacity/20 insertions do not promote, since several touches of one
/// large page by one scan say nothing. mru: for loops over more than the cache.
enum class EvictionKind : std::uint8_t { lru, arc, mru };

const char* to_string(EvictionKind kind) noexcept;
std::optional<EvictionKind> parse_eviction(std::string_view word) noexcept;

std::unique_ptr<Eviction> make_eviction(EvictionKind kind, std::uint32_t capacity);

}  // namespace coracle::internals::storage
