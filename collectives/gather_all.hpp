// gather_all: every member's block, everywhere.
#pragma once

#include <span>
#include <utility>

#include "collectives/blocks.hpp"
#include "runtime/byte_counts.hpp"
#include "runtime/team.hpp"

namespace coracle {

/// `all`: a block for each member. `mine` may be this member's own block of it.
Task<> gather_all_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                        Algorithm algorithm);

template <class T>
Task<> Team::gather_all(std::span<const std::type_identity_t<T>> mine, std::span<T> all, Algorithm algorithm) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can be moved between ranks as bytes");
  return gather_all_bytes(*this, byte_span(mine), writable_byte_span(all), Blocks(size_, byte_span(mine).size()),
                          algorithm);
}

template <class T>
Task<> Team::gather_all_v(std::span<const std::type_identity_t<T>> mine, std::span<T> all,
                          std::span<const std::size_t> counts, Algorithm algorithm) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can be moved between ranks as bytes");
  return gather_all_bytes(*this, byte_span(mine), writable_byte_span(all), Blocks(counts, sizeof(T)), algorithm);
}

}  // namespace coracle
