// scan: of all members' values those up to each member, combined.
#pragma once

#include <source_location>
#include <span>

#include "collectives/reduction.hpp"
#include "runtime/byte_counts.hpp"
#include "runtime/team.hpp"

namespace coracle::internals {

/// `values` in place. `first`: null: each member's own values are the last that it gets (inclusive); else an element
/// that takes the place of what comes before the first member's, and each member's own are left out (exclusive).
Task<> scan_bytes(Team& team, std::span<std::byte> values, Reduction reduction, const std::byte* first,
                  std::source_location where);

template <class T, class Operation>
Task<> Team::scan(std::span<T> values, Operation operation, Where where) {
  co_await scan_bytes(*this, writable_byte_span(values), reduction_of<T>(operation), nullptr, where);
}

template <class T, class Operation>
  requires std::is_trivially_copyable_v<T>
Task<T> Team::scan(T value, Operation operation, Where where) {
  co_await scan_bytes(*this, std::as_writable_bytes(std::span(&value, 1)), reduction_of<T>(operation), nullptr, where);
  co_return value;
}

template <class T, class Operation>
Task<> Team::exclusive_scan(std::span<T> values, Operation operation, std::type_identity_t<T> first, Where where) {
  co_await scan_bytes(*this, writable_byte_span(values), reduction_of<T>(operation),
                      reinterpret_cast<const std::byte*>(&first), where);
}

}  // namespace coracle::internals
