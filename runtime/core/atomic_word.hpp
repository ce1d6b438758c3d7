// What remote atomics can be about: types of 4 or 8 bytes, and their bits as they travel.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "runtime/core/modification.hpp"
#include "runtime/core/travels.hpp"

namespace coracle::internals::detail {

/// No padding: two equal values have equal bytes (but for floating-point numbers, whose bits are compared). No pointer,
/// which means nothing at another rank.
template <class T>
inline constexpr bool is_atomic_word = (sizeof(T) == 4 || sizeof(T) == 8) && kTravelsAsBytes<std::remove_const_t<T>> &&
                                       (std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

template <class T>
inline constexpr bool is_atomic_number = std::is_arithmetic_v<T>;

template <class T>
inline constexpr Modification::Number number_kind_of = std::is_floating_point_v<T> ? Modification::Number::real
                                                       : std::is_signed_v<T>       ? Modification::Number::integer
                                                                                   : Modification::Number::natural;

template <class T>
using AtomicBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
constexpr std::uint64_t bits_of(const T& value) noexcept {
  return std::bit_cast<AtomicBits<T>>(value);
}
template <class T>
constexpr T value_of_bits(std::uint64_t bits) noexcept {
  return std::bit_cast<T>(static_cast<AtomicBits<T>>(bits));
}

}  // namespace coracle::internals::detail
