// all_reduce: all members' values, combined, everywhere.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/reduction.hpp"
#include "runtime/team/in_place.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// `values` in place; as long as a multiple of the element.
Task<> all_reduce_bytes(Team& team, std::span<std::byte> values, Reduction reduction, Algorithm algorithm,
                        std::source_location where);

namespace detail {

template <class T, class Operation>
Task<> all_reduce_elements(Team& team, std::span<T> values, Operation operation, Algorithm algorithm,
                           std::source_location where) {
  co_await all_reduce_bytes(team, writable_byte_span(values), reduction_of<T>(operation), algorithm, where);
}
template <class T, class Operation>
Task<T> all_reduce_value(Team& team, T value, Operation operation, Algorithm algorithm, std::source_location where) {
  co_await all_reduce_bytes(team, std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation), algorithm,
                            where);
  co_return value;
}

}  // namespace detail

template <std::ranges::range Range, class Operation>
auto Team::all_reduce(Range&& values, Operation operation, Algorithm algorithm, Where where) {
  if constexpr (detail::check_reduced_in_place<Range, Operation>())
    return detail::all_reduce_elements(*this, detail::elements_of(values), std::move(operation), algorithm, where);
  else
    return detail::never<Task<detail::Anything>>();
}
template <class Value, class Operation>
  requires(!std::ranges::range<Value>)
Task<std::decay_t<Value>> Team::all_reduce(Value&& value, Operation operation, Algorithm algorithm, Where where) {
  using T = std::decay_t<Value>;
  if constexpr (detail::check_reduced<T, Operation>())
    return detail::all_reduce_value<T>(*this, value, std::move(operation), algorithm, where);
  else
    return detail::never<Task<T>>();
}

}  // namespace coracle::internals
