#include "apps/common/units.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>
#include <system_error>

namespace coracle::internals {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kSizes[] = {{"", 1},       {"B", 1},      {"K", 0x1p10}, {"k", 0x1p10},
                           {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}};
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6},   {"s", 1e9},
                           {"", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};

/// A number and a unit, behind which one of `endings` may stand if it is more than 1; nothing for any other text.
std::optional<double> measure(std::string_view text, std::span<const Unit> units,
                              std::initializer_list<std::string_view> endings = {}) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (!rest.starts_with(unit.name)) continue;
    const std::string_view behind = rest.substr(unit.name.size());
    if (behind.empty() || (unit.factor > 1 && std::ranges::find(endings, behind) != endings.end()))
      return number * unit.factor;
  }
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
  const std::optional<double> bytes = measure(text, kSizes, {"B", "iB"});
  if (!bytes || *bytes < 1 || *bytes >= 0x1p63) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  constexpr double kLongest = 10.0 * 365 * 24 * 3600 * 1e9;
  const std::optional<double> nanoseconds = measure(text, kTimes);
  if (!nanoseconds || *nanoseconds < 1 || *nanoseconds > kLongest) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(*nanoseconds));
}

std::optional<int> parse_gpu(std::string_view text, int any) {
  constexpr std::string_view kNumbered = "cuda:";
  if (text == "cuda") return any;
  if (!text.starts_with(kNumbered)) return std::nullopt;
  const auto number = parse_whole(text.substr(kNumbered.size()), 0, std::numeric_limits<int>::max());
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace coracle::internals
