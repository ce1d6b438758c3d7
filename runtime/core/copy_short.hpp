// copy_short: memcpy for what is mostly a word, without a call. copy_upwards: memcpy for what another processor reads
// next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace coracle::internals {

/// As memcpy, for lines that another processor reads next: upwards, and each byte once. memcpy writes some twice, or a
/// line after the one behind it, and then the lines come to the reader later (see docs/design/transports.md).
inline void copy_upwards(const std::byte* source, std::byte* target, std::size_t bytes) noexcept {
  constexpr std::size_t kLineBytes = 64;
  for (; bytes >= kLineBytes; bytes -= kLineBytes, source += kLineBytes, target += kLineBytes)
    std::memcpy(target, source, kLineBytes);
  const auto copy_if_left = [&]<std::size_t kPiece>(std::integral_constant<std::size_t, kPiece>) {
    if ((bytes & kPiece) == 0) return;
    std::memcpy(target, source, kPiece);
    source += kPiece;
    target += kPiece;
  };
  copy_if_left(std::integral_constant<std::size_t, 32>());
  copy_if_left(std::integral_constant<std::size_t, 16>());
  copy_if_left(std::integral_constant<std::size_t, 8>());
  copy_if_left(std::integral_constant<std::size_t, 4>());
  copy_if_left(std::integral_constant<std::size_t, 2>());
  copy_if_left(std::integral_constant<std::size_t, 1>());
}

/// As memcpy; `source` may be empty, and null then.
inline void copy_short(std::span<const std::byte> source, std::byte* target) noexcept {
  if (source.size() == sizeof(std::uint64_t)) [[likely]] {
    std::memcpy(target, source.data(), sizeof(std::uint64_t));
  } else if (!source.empty()) {
    std::memcpy(target, source.data(), source.size());
  }
}

}  // namespace coracle::internals
