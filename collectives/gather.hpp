// gather: every member's block, at one of them.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/blocks.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// `all`: at the root. The same size of `mine` everywhere.
Task<> gather_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, std::uint32_t root,
                    Algorithm algorithm, std::source_location where);
/// `all`, `blocks`: at the root, whose blocks must be as long as what their members give.
Task<> gather_v_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                      std::uint32_t root, std::source_location where);

template <class T>
Task<> Team::gather(std::span<const std::type_identity_t<T>> mine, std::span<T> all, std::uint32_t root,
                    Algorithm algorithm, Where where) {
  detail::check_elements<T>();
  return gather_bytes(*this, byte_span(mine), writable_byte_span(all), root, algorithm, where);
}

template <class T>
Task<> Team::gather_v(std::span<const std::type_identity_t<T>> mine, std::span<T> all,
                      std::span<const std::size_t> counts, std::uint32_t root, Where where) {
  detail::check_elements<T>();
  return gather_v_bytes(*this, byte_span(mine), writable_byte_span(all),
                        index() == root ? Blocks(counts, sizeof(T)) : Blocks(size(), 0), root, where);
}

}  // namespace coracle::internals
