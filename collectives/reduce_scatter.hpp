// reduce_scatter: all members' values, combined, a part for each.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/blocks.hpp"
#include "collectives/data/reduction.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// `values` has a block for each member, of which the sum comes into its `mine`.
Task<> reduce_scatter_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> mine, Blocks blocks,
                            Reduction reduction, Algorithm algorithm, std::source_location where);

template <class T, class Operation>
Task<> Team::reduce_scatter(std::span<const std::type_identity_t<T>> values, std::span<T> mine, Operation operation,
                            Algorithm algorithm, Where where) {
  co_await reduce_scatter_bytes(*this, byte_span(values), writable_byte_span(mine),
                                Blocks(size(), byte_span(mine).size()), reduction_of<T>(operation), algorithm, where);
}

template <class T, class Operation>
Task<> Team::reduce_scatter_v(std::span<const std::type_identity_t<T>> values, std::span<const std::size_t> counts,
                              std::span<T> mine, Operation operation, Algorithm algorithm, Where where) {
  co_await reduce_scatter_bytes(*this, byte_span(values), writable_byte_span(mine), Blocks(counts, sizeof(T)),
                                reduction_of<T>(operation), algorithm, where);
}

}  // namespace coracle::internals
