// all_reduce: all members' values, combined, everywhere.
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "collectives/reduction.hpp"
#include "runtime/byte_counts.hpp"
#include "runtime/team.hpp"

namespace coracle::internals {

/// `values` in place; as long as a multiple of the element.
Task<> all_reduce_bytes(Team& team, std::span<std::byte> values, Reduction reduction, Algorithm algorithm,
                        std::source_location where);

template <class T, class Operation>
Task<> Team::all_reduce(std::span<T> values, Operation operation, Algorithm algorithm, Where where) {
  co_await all_reduce_bytes(*this, writable_byte_span(values), reduction_of<T>(operation), algorithm, where);
}

template <class T, class Operation>
  requires std::is_trivially_copyable_v<T>
Task<T> Team::all_reduce(T value, Operation operation, Algorithm algorithm, Where where) {
  co_await all_reduce_bytes(*this, std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation), algorithm,
                            where);
  co_return value;
}

}  // namespace coracle::internals
