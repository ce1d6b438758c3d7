// Reduction: an element type and an operation as the algorithms see them, which know only bytes; and which operations
// they may reorder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

/// The smaller, or the larger, of two values.
struct Min {
  template <class T>
  constexpr T operator()(T left, T right) const {
    return right < left ? right : left;
  }
};
struct Max {
  template <class T>
  constexpr T operator()(T left, T right) const {
    return left < right ? right : left;
  }
};
inline constexpr Min min_of;
inline constexpr Max max_of;

/// A user's operation of which `operation(a, b)` equals `operation(b, a)`; see commutative().
template <class Operation>
struct Commutative {
  Operation operation;
  template <class Left, class Right>
  constexpr auto operator()(Left&& left, Right&& right) const {
    return operation(std::forward<Left>(left), std::forward<Right>(right));
  }
};

/// Lets reductions combine values out of the team's order: `team.reduce(values, commutative(merge), 0)`.
template <class Operation>
constexpr Commutative<std::decay_t<Operation>> commutative(Operation&& operation) {
  return {std::forward<Operation>(operation)};
}

/// Which operations may be reordered without being told by commutative().
template <class Operation>
inline constexpr bool is_commutative = false;
template <class Operation>
inline constexpr bool is_commutative<Commutative<Operation>> = true;
template <>
inline constexpr bool is_commutative<Min> = true;
template <>
inline constexpr bool is_commutative<Max> = true;
template <class T>
inline constexpr bool is_commutative<std::plus<T>> = true;
template <class T>
inline constexpr bool is_commutative<std::multiplies<T>> = true;
template <class T>
inline constexpr bool is_commutative<std::bit_and<T>> = true;
template <class T>
inline constexpr bool is_commutative<std::bit_or<T>> = true;
template <class T>
inline constexpr bool is_commutative<std::bit_xor<T>> = true;
template <class T>
inline constexpr bool is_commutative<std::logical_and<T>> = true;
template <class T>
inline constexpr bool is_commutative<std::logical_or<T>> = true;

/// Of an element that is reduced: several must fit into what the members of a node share.
inline constexpr std::size_t kReducedBytesMax = 16 * 1024;

/// Valid as long as the operation that it was made of.
struct Reduction {
  using Combine = void (*)(const void* operation, const std::byte* left, const std::byte* right, std::byte* result,
                           std::size_t count);

  std::size_t element_bytes;
  Combine function;
  const void* operation;
  bool commutative;

  /// result[i] = operation(left[i], right[i]) for all elements in `bytes`. `result` may be `left` or `right`, but must
  /// not overlap them in part. All are aligned for the element.
  void combine(const std::byte* left, const std::byte* right, std::byte* result, std::size_t bytes) const {
    function(operation, left, right, result, bytes / element_bytes);
  }
};

namespace detail {

/// Four steps a round, which the compiler makes of vectors: a round of one takes twice as long where it crosses a line
/// of the cache, as a quarter of all places in memory have it. clang unrolls by itself, and with this leaves vectors
/// out.
template <class T, class Step>
void for_each_element(std::size_t count, Step step) {
  if constexpr (std::is_arithmetic_v<T>) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 4
#endif
    for (std::size_t i = 0; i < count; ++i) step(i);
  } else {
    for (std::size_t i = 0; i < count; ++i) step(i);
  }
}

template <class T, class Operation>
void combine_elements(const void* context, const std::byte* left_bytes, const std::byte* right_bytes,
                      std::byte* result_bytes, std::size_t count) {
  const auto& operation = *static_cast<const Operation*>(context);
  const auto* left = reinterpret_cast<const T*>(left_bytes);
  const auto* right = reinterpret_cast<const T*>(right_bytes);
  auto* result = reinterpret_cast<T*>(result_bytes);
  // Each case by itself, so that the compiler knows what overlaps.
  if (result == left) {
    const T* __restrict other = right;
    for_each_element<T>(count, [&](std::size_t i) { result[i] = static_cast<T>(operation(result[i], other[i])); });
  } else if (result == right) {
    const T* __restrict other = left;
    for_each_element<T>(count, [&](std::size_t i) { result[i] = static_cast<T>(operation(other[i], result[i])); });
  } else {
    T* __restrict target = result;
    for_each_element<T>(count, [&](std::size_t i) { target[i] = static_cast<T>(operation(left[i], right[i])); });
  }
}

}  // namespace detail

/// Of an operation that can be called when it is const: `operation(T, T) -> T`, associative.
template <class T, class Operation>
Reduction reduction_of(const Operation& operation) noexcept {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can be moved between ranks as bytes");
  static_assert(alignof(T) <= 64, "elements of collectives are aligned to a cache line at most");
  static_assert(sizeof(T) <= kReducedBytesMax,
                "elements of reductions have at most 16 KiB: reduce arrays of their parts");
  return {sizeof(T), detail::combine_elements<T, Operation>, &operation, is_commutative<Operation>};
}

}  // namespace coracle::internals
