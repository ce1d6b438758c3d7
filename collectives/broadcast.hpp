// Broadcast by a binomial tree.
#pragma once

#include <source_location>
#include <span>

#include "runtime/team/in_place.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Bytes of any kind; see Team::broadcast.
Task<> broadcast_bytes(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice = {},
                       std::source_location where = std::source_location::current());

template <detail::broadcast_in_place Range>
auto Team::broadcast(Range&& data, std::uint32_t root, BroadcastChoice choice, Where where) {
  if constexpr (detail::check_broadcast_in_place<Range>())
    return broadcast_bytes(*this, detail::bytes_in_place(data), root, choice, where);
  else
    return detail::never<Task<detail::Anything>>();
}

}  // namespace coracle::internals
