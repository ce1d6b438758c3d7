// Ranges as collectives take them: in place, element by element. What is no range, or can't be written to, is a value.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "runtime/core/byte_counts.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/core/travels.hpp"

namespace coracle::internals::detail {

/// With a name, and not const.
template <class Range>
concept named_range =
    std::ranges::range<Range> && std::is_lvalue_reference_v<Range> && !std::is_const_v<std::remove_reference_t<Range>>;

/// A span, or what else sees elements that live without it (not a view that owns them); an array of C, which can't be
/// returned.
template <class Range>
concept seen_range = std::ranges::range<Range> &&
                     ((std::ranges::view<std::remove_cvref_t<Range>> && std::ranges::borrowed_range<Range>) ||
                      std::is_array_v<std::remove_reference_t<Range>>);

/// What a broadcast writes to. Ranges without a name, and const ones, are values there.
template <class Range>
concept broadcast_in_place = named_range<Range> || seen_range<Range>;

template <class Range>
inline constexpr bool kLiesInRow = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>;
template <class Range>
using ElementOf = std::remove_reference_t<std::ranges::range_reference_t<Range>>;

template <class Range>
auto elements_of(Range& range) {
  return std::span<ElementOf<Range&>>(std::ranges::data(range), std::ranges::size(range));
}
template <class Range>
std::span<std::byte> bytes_in_place(Range& range) {
  return writable_byte_span(elements_of(range));
}

/// Of what goes as bytes from memory to memory. One sentence for what is wrong; gives whether nothing is.
template <class T>
constexpr bool check_elements() {
  static_assert(!std::is_const_v<T>, "a collective writes to elements that are const here");
  static_assert(std::is_const_v<T> || std::is_trivially_copyable_v<T>,
                "only trivially copyable types can be moved between ranks as bytes");
  return !std::is_const_v<T> && std::is_trivially_copyable_v<T>;
}

template <class Range>
constexpr bool check_broadcast_in_place() {
  static_assert(kLiesInRow<Range>,
                "broadcast: a range with a name is written in place, which takes elements in a row (no bits, no list): "
                "for its value give std::move(name)");
  if constexpr (kLiesInRow<Range>) {
    using Element = ElementOf<Range>;
    static_assert(!std::is_const_v<Element>,
                  "broadcast writes to elements that are const here: for the value of a view or a literal give a "
                  "std::string or std::vector");
    static_assert(std::is_const_v<Element> || kTravelsAsBytes<Element>,
                  "broadcast: a range with a name is written in place, which takes trivially copyable elements without "
                  "pointers: for its value give std::move(name)");
    return kTravelsAsBytes<Element>;
  }
  return false;
}

/// Can be called when it is const.
template <class T, class Operation>
constexpr bool check_operation() {
  constexpr bool combines = std::is_invocable_v<const Operation&, const T&, const T&>;
  static_assert(combines, "the operation of a reduction or scan takes two elements and gives one");
  return combines;
}

/// In reductions and scans every range is in place: it is never taken for one value.
template <class Range, class Operation>
constexpr bool check_reduced_in_place() {
  static_assert(kLiesInRow<Range>,
                "reductions and scans combine a range element by element, in place: its elements must lie in a row");
  if constexpr (kLiesInRow<Range>) {
    using Element = ElementOf<Range>;
    constexpr bool stays = named_range<Range> || seen_range<Range>;
    static_assert(stays && !std::is_const_v<Element>,
                  "reductions and scans combine a range element by element, in place: give it a name, and don't let it "
                  "or its elements be const; an array that is one value goes in a struct");
    static_assert(!stays || std::is_const_v<Element> || kTravelsAsBytes<Element>,
                  "reductions and scans are for trivially copyable elements without pointers");
    if constexpr (stays && kTravelsAsBytes<Element>) return check_operation<Element, Operation>();
  }
  return false;
}

/// The same of one value.
template <class T, class Operation>
constexpr bool check_reduced() {
  static_assert(kTravelsAsBytes<T>, "reductions and scans are for trivially copyable values without pointers");
  if constexpr (kTravelsAsBytes<T>) return check_operation<T, Operation>();
  return false;
}

template <class Values>
struct Reduced {
  using Element = std::decay_t<Values>;
};
template <std::ranges::range Range>
struct Reduced<Range> {
  using Element = std::ranges::range_value_t<Range>;
};
/// What a reduction combines: the elements of a range, or else the value.
template <class Values>
using ReducedElement = typename Reduced<Values>::Element;

}  // namespace coracle::internals::detail
