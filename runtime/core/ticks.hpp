// Ticks: the cheapest clock of the machine that all its cores agree on.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace coracle::internals {

/// Whether the processor counts at one speed, on all cores alike, by which the kernel keeps its own time, too. The same
/// for all ranks of a node: their launcher asks, and tells them.
bool processor_counts() noexcept;

/// The processor's counter. Only where processor_counts() said so, on this machine.
inline std::uint64_t read_processor_count() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

/// Of the counter, or else of CLOCK_MONOTONIC in nanoseconds.
std::uint64_t read_ticks(bool by_processor) noexcept;

/// The same moment in ticks and on CLOCK_MONOTONIC.
struct TickSample {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;

  /// The closest of a few looks.
  static TickSample take(bool by_processor) noexcept;
};

/// A straight line through two samples.
class TickScale {
 public:
  /// Ticks are nanoseconds.
  TickScale() = default;
  /// `to` later than `from`, the longer the better.
  TickScale(const TickSample& from, const TickSample& to) noexcept;
  /// Never decreases with `ticks`.
  std::uint64_t nanoseconds(std::uint64_t ticks) const noexcept;

 private:
  TickSample origin_;
  double ns_per_tick_ = 1;
};

}  // namespace coracle::internals
