// Counts of elements that users give, as bytes. A product or a sum that needs more than 64 bits wraps around in C++, so
// that a count which no memory has looks like a small one. Here it becomes more than anything has, or is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "runtime/core/assert.hpp"
#include "runtime/core/std_parts.hpp"

namespace coracle::internals {

/// No object in memory has more.
inline constexpr std::size_t kObjectBytesMax = std::numeric_limits<std::ptrdiff_t>::max();

/// Of `count` elements of `element_bytes`; where that needs more than 64 bits, so many that every bound refuses them.
constexpr std::size_t byte_count(std::size_t count, std::size_t element_bytes) noexcept {
  std::size_t bytes = 0;
  return __builtin_mul_overflow(count, element_bytes, &bytes) ? std::numeric_limits<std::size_t>::max() : bytes;
}

/// Where `bytes` from `offset` on end, in the same way.
constexpr std::uint64_t byte_end(std::uint64_t offset, std::uint64_t bytes) noexcept {
  std::uint64_t end = 0;
  return __builtin_add_overflow(offset, bytes, &end) ? std::numeric_limits<std::uint64_t>::max() : end;
}

/// A programmer's mistake: ends the program.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_span(std::size_t count, std::size_t element_bytes) noexcept {
  CORACLE_ASSERT(count <= kObjectBytesMax / element_bytes,
                 "a span of {} elements of {} bytes was given, more than any memory has; see where its length comes "
                 "from (a difference below 0?)",
                 count, element_bytes);
  __builtin_unreachable();
}

/// As std::as_bytes and std::as_writable_bytes, but for spans that users give: their number of bytes does not wrap
/// around.
template <class T>
std::span<const std::byte> byte_span(std::span<T> elements) {
  if (elements.size() > kObjectBytesMax / sizeof(T)) [[unlikely]]
    refuse_span(elements.size(), sizeof(T));
  return std::as_bytes(elements);
}
template <class T>
std::span<std::byte> writable_byte_span(std::span<T> elements) {
  if (elements.size() > kObjectBytesMax / sizeof(T)) [[unlikely]]
    refuse_span(elements.size(), sizeof(T));
  static_assert(!std::is_const_v<T>, "these elements are written to, and they are const here");
  if constexpr (std::is_const_v<T>)
    return {};  // the sentence above is enough
  else
    return std::as_writable_bytes(elements);
}

namespace detail {

/// What has elements of its own, which end with it; not a span or another view.
template <class Range>
concept owning_range =
    std::ranges::contiguous_range<Range> && !std::ranges::view<Range> && !std::ranges::borrowed_range<Range>;

}  // namespace detail
}  // namespace coracle::internals
