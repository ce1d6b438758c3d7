// Medians, and figures as text.
#include "apps/bench/measure/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::internals::bench {
namespace {

/// Three significant digits, never as a power of ten.
std::string digits(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  return size >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

template <std::size_t Count>
std::string with_prefix(double value, double step, const std::array<const char*, Count>& units) {
  std::size_t unit = 0;
  while (unit + 1 < Count && std::abs(value) >= step * 0.9995) {
    value /= step;
    ++unit;
  }
  return digits(value) + " " + units[unit];
}

}  // namespace

Figure figure_of(std::vector<double> samples) {
  CORACLE_ASSERT(!samples.empty(), "a figure needs samples");
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  return {median, samples.front(), samples.back()};
}

Figure scaled(const Figure& figure, double factor) noexcept {
  return {figure.median * factor, figure.min * factor, figure.max * factor};
}

std::string text_of(double value, const std::string& unit) {
  if (unit == "ns") return with_prefix<4>(value, 1e3, {"ns", "us", "ms", "s"});
  if (unit == "B") return with_prefix<4>(value, 1024, {"B", "KiB", "MiB", "GiB"});
  return digits(value) + " " + unit;
}

std::string size_text(std::uint64_t bytes) {
  const auto in_units_of = [bytes](double one) { return static_cast<double>(bytes) / one; };
  if (bytes >= 1 << 20) return fmt::format("{:g} MiB", in_units_of(1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:g} KiB", in_units_of(1 << 10));
  return fmt::format("{} B", bytes);
}

}  // namespace coracle::internals::bench
