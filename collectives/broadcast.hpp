// Broadcast by a binomial tree.
#pragma once

#include <span>

#include "runtime/byte_counts.hpp"
#include "runtime/team.hpp"

namespace coracle {

/// Bytes of any kind; see Team::broadcast.
Task<> broadcast_bytes(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice = {});

template <class T>
Task<> Team::broadcast(std::span<T> data, std::uint32_t root, BroadcastChoice choice) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can be moved between ranks as bytes");
  return broadcast_bytes(*this, writable_byte_span(data), root, choice);
}

template <std::ranges::contiguous_range Range>
  requires(!std::ranges::view<Range>)
Task<> Team::broadcast(Range& data, std::uint32_t root, BroadcastChoice choice) {
  return broadcast(std::span(data), root, choice);
}

}  // namespace coracle
