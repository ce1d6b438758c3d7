// Random graphs of any size, the same on every rank and with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "apps/asp/graph.hpp"

namespace coracle::asp {

/// `degree` arcs from each of `vertices` > 0 vertices to vertices drawn with replacement; whole weights 1..100, so that
/// distances are exact in float.
Graph random_graph(std::size_t vertices, std::size_t degree, std::uint64_t seed);

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// 0..bound-1; `bound` > 0 and far below 2^64, so that the bias is none that matters here.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace coracle::asp
