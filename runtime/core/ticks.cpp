// What kind of counter the processor has; samples and lines of it.
#include "runtime/core/ticks.hpp"

#include <fstream>
#include <string>

#include "runtime/core/timer.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace coracle::internals {

bool processor_counts() noexcept {
#if defined(__x86_64__)
  constexpr unsigned kPowerManagement = 0x80000007;
  constexpr unsigned kInvariantCounter = 1U << 8;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) == 0 || (edx & kInvariantCounter) == 0) return false;
  try {
    // The kernel compares the cores' counters, and does not use one that differs.
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string source;
    return static_cast<bool>(file >> source) && source == "tsc";
  } catch (...) {
    return false;
  }
#else
  return false;
#endif
}

std::uint64_t read_ticks(bool by_processor) noexcept {
  return by_processor ? read_processor_count() : real_clock().now_ns();
}

TickSample TickSample::take(bool by_processor) noexcept {
  if (!by_processor) {
    const std::uint64_t now = real_clock().now_ns();
    return {now, now};
  }
  constexpr int kLooks = 16;
  TickSample best;
  std::uint64_t narrowest = ~std::uint64_t{0};
  for (int look = 0; look < kLooks; ++look) {
    const std::uint64_t before = read_processor_count();
    const std::uint64_t ns = real_clock().now_ns();
    const std::uint64_t width = read_processor_count() - before;
    if (width >= narrowest) continue;
    narrowest = width;
    best = {before + width / 2, ns};
  }
  return best;
}

TickScale::TickScale(const TickSample& from, const TickSample& to) noexcept : origin_(from) {
  if (to.ticks > from.ticks && to.ns > from.ns)
    ns_per_tick_ = static_cast<double>(to.ns - from.ns) / static_cast<double>(to.ticks - from.ticks);
}

std::uint64_t TickScale::nanoseconds(std::uint64_t ticks) const noexcept {
  // A double holds some hundred days of nanoseconds to the last one.
  const double since = static_cast<double>(static_cast<std::int64_t>(ticks - origin_.ticks)) * ns_per_tick_;
  return origin_.ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(since));
}

}  // namespace coracle::internals
