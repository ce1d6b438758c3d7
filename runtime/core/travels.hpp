// Which values can travel to other ranks: those of a call, of collectives of single values, and the like.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

class Error;

/// Whether a value can travel with a call: not what only points to its bytes. (What a structure consists of is not
/// known here: one with a pointer in it passes.)
template <class T>
inline constexpr bool kTravels =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_function_pointer_v<T> &&
    !std::is_reference_v<T> && !std::is_array_v<T> && !std::is_const_v<T> && !std::ranges::view<T>;
template <class T>
inline constexpr bool kTravels<std::reference_wrapper<T>> = false;
template <class T>
inline constexpr bool kTravels<std::initializer_list<T>> = false;
template <class T, std::size_t N>
inline constexpr bool kTravels<std::array<T, N>> = std::is_trivially_copyable_v<T> && kTravels<T>;
template <>
inline constexpr bool kTravels<std::string> = true;
template <>
inline constexpr bool kTravels<Error> = true;
template <class T>
inline constexpr bool kTravels<std::vector<T>> = kTravels<T>;
template <class T>
inline constexpr bool kTravels<std::optional<T>> = kTravels<T>;
template <class A, class B>
inline constexpr bool kTravels<std::pair<A, B>> = kTravels<A> && kTravels<B>;
template <class... T>
inline constexpr bool kTravels<std::tuple<T...>> = (kTravels<T> && ...);

/// Whether its bytes are all of it.
template <class T>
inline constexpr bool kTravelsAsBytes = std::is_trivially_copyable_v<T> && kTravels<T>;

namespace detail {

/// The result of what does not compile anyway: fits wherever a value is wanted, so that nothing more is said.
struct Anything {
  template <class T>
  operator T() const;
};
/// Not defined: of what does not compile anyway.
template <class T>
T never();

/// Refuses other values, in one sentence; gives whether this one goes.
template <class T>
constexpr bool check_travels() {
  static_assert(kTravels<T>,
                "a value of this type can't travel to another rank: trivially copyable types without pointers can, "
                "std::string, and std::vector, std::optional, std::pair and std::tuple of such");
  return kTravels<T>;
}

/// The same for what goes as its bytes, without being packed.
template <class T>
constexpr bool check_travels_as_bytes() {
  static_assert(kTravelsAsBytes<T>,
                "one value of this type can't travel to another rank: trivially copyable types without pointers can");
  return kTravelsAsBytes<T>;
}

}  // namespace detail
}  // namespace coracle::internals
