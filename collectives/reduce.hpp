// reduce: all members' values, combined, at one of them.
#pragma once

#include <source_location>
#include <span>

#include "collectives/reduction.hpp"
#include "runtime/byte_counts.hpp"
#include "runtime/team.hpp"

namespace coracle::internals {

/// `values` of the root receives the result; elsewhere it is only read.
Task<> reduce_bytes(Team& team, std::span<std::byte> values, Reduction reduction, std::uint32_t root,
                    Algorithm algorithm, std::source_location where);

template <class T, class Operation>
Task<> Team::reduce(std::span<T> values, Operation operation, std::uint32_t root, Algorithm algorithm, Where where) {
  co_await reduce_bytes(*this, writable_byte_span(values), reduction_of<T>(operation), root, algorithm, where);
}

}  // namespace coracle::internals
