// Sizes and times as people write them: "64M", "1.5G", "500ms", "30s".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle {

/// Bytes: a number and one of K, M, G, T (powers of 1024) with "B" or "iB" after it if you like, or nothing. Nothing
/// for any other text, and for what is below one byte or does not fit.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// A number and one of ns, us, ms, s, m (minutes), h; without a unit: seconds. Nothing for any other text, for what is
/// not above zero, and for more than ten years.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

}  // namespace coracle
