// gather_all: every member's block, everywhere.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/blocks.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// `all`: a block for each member. `mine` may be this member's own block of it. `called`: of what it is a part.
Task<> gather_all_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                        Algorithm algorithm, std::source_location where, Called called = Called::gather_all);

template <class T>
Task<> Team::gather_all(std::span<const std::type_identity_t<T>> mine, std::span<T> all, Algorithm algorithm,
                        Where where) {
  detail::check_elements<T>();
  return gather_all_bytes(*this, byte_span(mine), writable_byte_span(all), Blocks(size(), byte_span(mine).size()),
                          algorithm, where);
}

template <class T>
Task<> Team::gather_all_v(std::span<const std::type_identity_t<T>> mine, std::span<T> all,
                          std::span<const std::size_t> counts, Algorithm algorithm, Where where) {
  detail::check_elements<T>();
  return gather_all_bytes(*this, byte_span(mine), writable_byte_span(all), Blocks(counts, sizeof(T)), algorithm, where);
}

}  // namespace coracle::internals
