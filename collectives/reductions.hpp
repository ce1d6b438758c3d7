// Reductions and scans: the members' values combined, element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include "collectives/data/blocks.hpp"
#include "collectives/data/reduction.hpp"
#include "runtime/core/byte_counts.hpp"
#include "runtime/team/in_place.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

// `values` of all are as long as a multiple of the element. `result` is as long, and may be the same memory (in place),
// else is apart.

/// The result is the same everywhere.
Task<> all_reduce_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                        Algorithm algorithm, std::source_location where);
/// `result`: of the root; elsewhere empty.
Task<> reduce_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                    std::uint32_t root, Algorithm algorithm, std::source_location where);
/// `values` has a block for each member, of which the sum comes into its `mine`.
Task<> reduce_scatter_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> mine, Blocks blocks,
                            Reduction reduction, Algorithm algorithm, std::source_location where);
/// Of all members up to this one.
Task<> scan_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                  std::source_location where);
/// Of all members before this one. `first`: an element that comes before them all; null: there is none, and the first
/// member's result stays as it is, and may be empty.
Task<> exclusive_scan_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                            Reduction reduction, const std::byte* first, std::source_location where);

namespace detail {

// `run(bytes, reduction)` -> Task<> is the collective, with its other arguments; it lives as long as they do.

template <class T, class Operation, class Run>
Task<> reduce_elements(std::span<T> values, Operation operation, Run run) {
  co_await run(writable_byte_span(values), reduction_of<T>(operation));
}
template <class T, class Operation, class Run>
Task<T> reduce_value(T value, Operation operation, Run run) {
  co_await run(std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation));
  co_return value;
}

/// Of a range, its elements; of anything else, the value.
template <class Values, class Operation, class Run>
auto reduce_any(std::remove_reference_t<Values>& values, Operation operation, const Run& run) {
  using T = std::decay_t<Values>;
  if constexpr (std::ranges::range<Values>) {
    if constexpr (check_reduced_in_place<Values, Operation>())
      return reduce_elements(elements_of(values), std::move(operation), run);
    else
      return never<Task<Anything>>();
  } else if constexpr (check_reduced<T, Operation>()) {
    return reduce_value<T>(values, std::move(operation), run);
  } else {
    return never<Task<T>>();
  }
}

}  // namespace detail

template <class Values, class Operation>
auto Team::all_reduce(Values&& values, Operation operation, Algorithm algorithm, Where where) {
  const auto run = [this, algorithm, where](std::span<std::byte> bytes, const Reduction& reduction) {
    return all_reduce_bytes(*this, bytes, bytes, reduction, algorithm, where);
  };
  return detail::reduce_any<Values>(values, std::move(operation), run);
}

template <class Values, class Operation>
auto Team::reduce(Values&& values, Operation operation, std::uint32_t root, Algorithm algorithm, Where where) {
  const auto run = [this, root, algorithm, where](std::span<std::byte> bytes, const Reduction& reduction) {
    const auto result = index() == root ? bytes : std::span<std::byte>();
    return reduce_bytes(*this, bytes, result, reduction, root, algorithm, where);
  };
  return detail::reduce_any<Values>(values, std::move(operation), run);
}

template <class Values, class Operation>
auto Team::scan(Values&& values, Operation operation, Where where) {
  const auto run = [this, where](std::span<std::byte> bytes, const Reduction& reduction) {
    return scan_bytes(*this, bytes, bytes, reduction, where);
  };
  return detail::reduce_any<Values>(values, std::move(operation), run);
}

template <class Values, class Operation>
auto Team::exclusive_scan(Values&& values, Operation operation, detail::ReducedElement<Values> first, Where where) {
  const auto run = [this, first, where](std::span<std::byte> bytes, const Reduction& reduction) {
    return exclusive_scan_bytes(*this, bytes, bytes, reduction, reinterpret_cast<const std::byte*>(&first), where);
  };
  return detail::reduce_any<Values>(values, std::move(operation), run);
}

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
