// Parsing numbers, sizes and times.
#include "apps/common/units.hpp"

#include <charconv>
#include <cmath>

namespace coracle::internals {
namespace {

/// Takes the number off the front of `text`; nothing when there is none.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> bytes_of(std::string_view unit) {
  if (unit.empty() || unit == "B") return 1;
  const std::string_view rest = unit.substr(1);
  if (!rest.empty() && rest != "B" && rest != "iB") return std::nullopt;
  switch (unit.front()) {
    case 'K':
    case 'k':
      return std::exp2(10);
    case 'M':
      return std::exp2(20);
    case 'G':
      return std::exp2(30);
    case 'T':
      return std::exp2(40);
    default:
      return std::nullopt;
  }
}

std::optional<double> nanoseconds_of(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s" || unit.empty()) return 1e9;
  if (unit == "m" || unit == "min") return 60e9;
  if (unit == "h") return 3600e9;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const std::optional<double> number = take_number(text);
  const std::optional<double> unit = bytes_of(text);
  if (!number || !unit) return std::nullopt;
  const double bytes = *number * *unit;
  if (bytes < 1 || bytes >= std::exp2(63)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  constexpr double kLongest = 10.0 * 365 * 24 * 3600 * 1e9;
  const std::optional<double> number = take_number(text);
  const std::optional<double> unit = nanoseconds_of(text);
  if (!number || !unit) return std::nullopt;
  const double nanoseconds = *number * *unit;
  if (nanoseconds < 1 || nanoseconds > kLongest) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(nanoseconds));
}

}  // namespace coracle::internals
