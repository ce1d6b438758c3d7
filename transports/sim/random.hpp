// Random: the one source of chance in a simulated job, the same on every machine and with every standard library.
#pragma once

#include <cstdint>

namespace coracle::internals::sim {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15ULL); }
  /// 0 .. bound - 1; `bound` is not 0. The bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  /// 0 .. most.
  std::uint64_t up_to(std::uint64_t most) noexcept { return most == 0 ? 0 : below(most + 1); }

  static constexpr std::uint64_t mix(std::uint64_t value) noexcept {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace coracle::internals::sim
