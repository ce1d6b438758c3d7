// Random numbers that are the same everywhere, in a row or by their place.
#pragma once

#include <cstdint>

namespace coracle {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept { return mixed(state_ += kStep); }

  /// The number that next() gives after `place` others.
  static std::uint64_t at(std::uint64_t seed, std::uint64_t place) noexcept {
    return mixed(seed + (place + 1) * kStep);
  }

  /// 0..bound-1; `bound` > 0 and far below 2^64, so that the bias is none that matters here.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  static std::uint64_t mixed(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace coracle
