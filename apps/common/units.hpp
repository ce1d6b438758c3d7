// Numbers, sizes and times as people write them: "8", "64M", "1.5G", "500ms", "30s".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::internals {

/// Bytes: a number and one of K, M, G, T (powers of 1024) with "B" or "iB" after it if you like, or nothing. Nothing
/// for any other text, and for what is below one byte or does not fit.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// A whole number in digits; nothing for any other text, and for one that is not from `low` to `high`.
std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t low, std::uint64_t high);

/// A number and one of ns, us, ms, s, m (minutes), h; without a unit: seconds. Nothing for any other text, for what is
/// not above zero, and for more than ten years.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The GPU that "cuda:2" names; for "cuda" it is `any`. Nothing for any other text.
std::optional<int> parse_gpu(std::string_view text, int any);

}  // namespace coracle::internals
