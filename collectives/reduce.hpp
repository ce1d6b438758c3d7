// reduce: all members' values, combined, at one of them.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/reduction.hpp"
#include "runtime/team/in_place.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// `values` of the root receives the result; elsewhere it is only read.
Task<> reduce_bytes(Team& team, std::span<std::byte> values, Reduction reduction, std::uint32_t root,
                    Algorithm algorithm, std::source_location where);

namespace detail {

template <class T, class Operation>
Task<> reduce_elements(Team& team, std::span<T> values, Operation operation, std::uint32_t root, Algorithm algorithm,
                       std::source_location where) {
  co_await reduce_bytes(team, writable_byte_span(values), reduction_of<T>(operation), root, algorithm, where);
}
template <class T, class Operation>
Task<T> reduce_value(Team& team, T value, Operation operation, std::uint32_t root, Algorithm algorithm,
                     std::source_location where) {
  co_await reduce_bytes(team, std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation), root, algorithm,
                        where);
  co_return value;
}

}  // namespace detail

template <std::ranges::range Range, class Operation>
auto Team::reduce(Range&& values, Operation operation, std::uint32_t root, Algorithm algorithm, Where where) {
  if constexpr (detail::check_reduced_in_place<Range, Operation>())
    return detail::reduce_elements(*this, detail::elements_of(values), std::move(operation), root, algorithm, where);
  else
    return detail::never<Task<detail::Anything>>();
}
template <class Value, class Operation>
  requires(!std::ranges::range<Value>)
Task<std::decay_t<Value>> Team::reduce(Value&& value, Operation operation, std::uint32_t root, Algorithm algorithm,
                                       Where where) {
  using T = std::decay_t<Value>;
  if constexpr (detail::check_reduced<T, Operation>())
    return detail::reduce_value<T>(*this, value, std::move(operation), root, algorithm, where);
  else
    return detail::never<Task<T>>();
}

}  // namespace coracle::internals
