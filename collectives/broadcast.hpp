// Broadcast by a binomial tree.
#pragma once

#include <source_location>
#include <span>

#include "runtime/byte_counts.hpp"
#include "runtime/team.hpp"

namespace coracle::internals {

/// Bytes of any kind; see Team::broadcast.
Task<> broadcast_bytes(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice = {},
                       std::source_location where = std::source_location::current());

template <class T>
Task<> Team::broadcast(std::span<T> data, std::uint32_t root, BroadcastChoice choice, Where where) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can be moved between ranks as bytes");
  return broadcast_bytes(*this, writable_byte_span(data), root, choice, where);
}

template <std::ranges::contiguous_range Range>
  requires(!std::ranges::view<Range>)
Task<> Team::broadcast(Range& data, std::uint32_t root, BroadcastChoice choice, Where where) {
  return broadcast(std::span(data), root, choice, where);
}

}  // namespace coracle::internals
