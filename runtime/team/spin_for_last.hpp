// SpinForLast: a short wait for the one member that is still missing, where ranks outnumber cores.
#pragma once

#include <cstdint>

#include "runtime/core/cpu.hpp"

namespace coracle::internals {

/// The last who is missing is often about to come on another core: looks for it for less time than leaving the core to
/// others and coming back would take, unless that was in vain lately. One rank's, of one team.
class SpinForLast {
 public:
  explicit SpinForLast(bool crowded) noexcept : crowded_(crowded) {}

  /// Returns when `come()`, or after half a microsecond.
  template <class Come>
  void operator()(const Come& come) noexcept {
    constexpr int kLooks = 30;
    if (!crowded_ || (skipped_ != 0 && --skipped_ != 0)) return;
    int look = 0;
    for (; look < kLooks && !come(); ++look) {
      cpu_pause();
      cpu_pause();
    }
    note(look < kLooks);
  }

 private:
  void note(bool seen) noexcept {
    constexpr std::uint32_t kVainMax = 8;
    constexpr std::uint32_t kSkipped = 64;
    vain_ = seen ? 0 : vain_ + 1;
    if (vain_ < kVainMax) return;
    vain_ = 0;
    skipped_ = kSkipped;
  }

  const bool crowded_;         // ranks outnumber cores
  std::uint32_t vain_ = 0;     // since the last that was not
  std::uint32_t skipped_ = 0;  // so many still
};

}  // namespace coracle::internals
