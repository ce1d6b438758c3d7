// scatter: to every member its block of what one of them has.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/blocks.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// `all`: at the root. The same size of `mine` everywhere.
Task<> scatter_bytes(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, std::uint32_t root,
                     Algorithm algorithm, std::source_location where);
/// `all`, `blocks`: at the root, whose blocks must be as long as what their members expect.
Task<> scatter_v_bytes(Team& team, std::span<const std::byte> all, Blocks blocks, std::span<std::byte> mine,
                       std::uint32_t root, std::source_location where);

template <class T>
Task<> Team::scatter(std::span<const std::type_identity_t<T>> all, std::span<T> mine, std::uint32_t root,
                     Algorithm algorithm, Where where) {
  detail::check_elements<T>();
  return scatter_bytes(*this, byte_span(all), writable_byte_span(mine), root, algorithm, where);
}

template <class T>
Task<> Team::scatter_v(std::span<const std::type_identity_t<T>> all, std::span<const std::size_t> counts,
                       std::span<T> mine, std::uint32_t root, Where where) {
  detail::check_elements<T>();
  return scatter_v_bytes(*this, byte_span(all), index() == root ? Blocks(counts, sizeof(T)) : Blocks(size(), 0),
                         writable_byte_span(mine), root, where);
}

}  // namespace coracle::internals
