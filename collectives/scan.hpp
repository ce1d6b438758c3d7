// scan: of all members' values those up to each member, combined.
#pragma once

#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/reduction.hpp"
#include "runtime/team/in_place.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// `values` in place. `first`: null: each member's own values are the last that it gets (inclusive); else an element
/// that takes the place of what comes before the first member's, and each member's own are left out (exclusive).
Task<> scan_bytes(Team& team, std::span<std::byte> values, Reduction reduction, const std::byte* first,
                  std::source_location where);

namespace detail {

template <class T, class Operation>
Task<> scan_elements(Team& team, std::span<T> values, Operation operation, std::source_location where) {
  co_await scan_bytes(team, writable_byte_span(values), reduction_of<T>(operation), nullptr, where);
}
template <class T, class Operation>
Task<T> scan_value(Team& team, T value, Operation operation, std::source_location where) {
  co_await scan_bytes(team, std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation), nullptr, where);
  co_return value;
}
template <class T, class Operation>
Task<> exclusive_scan_elements(Team& team, std::span<T> values, Operation operation, T first,
                               std::source_location where) {
  co_await scan_bytes(team, writable_byte_span(values), reduction_of<T>(operation),
                      reinterpret_cast<const std::byte*>(&first), where);
}
template <class T, class Operation>
Task<T> exclusive_scan_value(Team& team, T value, Operation operation, T first, std::source_location where) {
  co_await scan_bytes(team, std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation),
                      reinterpret_cast<const std::byte*>(&first), where);
  co_return value;
}

}  // namespace detail

template <std::ranges::range Range, class Operation>
auto Team::scan(Range&& values, Operation operation, Where where) {
  if constexpr (detail::check_reduced_in_place<Range, Operation>())
    return detail::scan_elements(*this, detail::elements_of(values), std::move(operation), where);
  else
    return detail::never<Task<detail::Anything>>();
}
template <class Value, class Operation>
  requires(!std::ranges::range<Value>)
Task<std::decay_t<Value>> Team::scan(Value&& value, Operation operation, Where where) {
  using T = std::decay_t<Value>;
  if constexpr (detail::check_reduced<T, Operation>())
    return detail::scan_value<T>(*this, value, std::move(operation), where);
  else
    return detail::never<Task<T>>();
}

template <std::ranges::range Range, class Operation>
auto Team::exclusive_scan(Range&& values, Operation operation, std::ranges::range_value_t<Range> first, Where where) {
  if constexpr (detail::check_reduced_in_place<Range, Operation>())
    return detail::exclusive_scan_elements(*this, detail::elements_of(values), std::move(operation), first, where);
  else
    return detail::never<Task<detail::Anything>>();
}
template <class Value, class Operation>
  requires(!std::ranges::range<Value>)
Task<std::decay_t<Value>> Team::exclusive_scan(Value&& value, Operation operation, std::decay_t<Value> first,
                                               Where where) {
  using T = std::decay_t<Value>;
  if constexpr (detail::check_reduced<T, Operation>())
    return detail::exclusive_scan_value<T>(*this, value, std::move(operation), first, where);
  else
    return detail::never<Task<T>>();
}

}  // namespace coracle::internals
