// Random nested layouts, each with its typemap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>

#include "runtime/layout/layout.hpp"
#include "tests/layout/typemap.hpp"

namespace coracle::internals::test {

struct Described {
  Layout layout;
  Typemap map;
};

/// For every random number that a test draws.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  /// From low to high, both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool one_in(std::int64_t chances) { return between(1, chances) == 1; }
  void fill(std::span<std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random_();
      std::memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
    }
  }

 private:
  std::mt19937_64 random_;
};

/// The seed of this run: CORACLE_TEST_SEED, or another one every time.
std::uint64_t chosen_seed();

/// At most `levels` constructors around a plain type; has at most some thousands of bytes, within some hundred
/// thousand.
Described random_layout(Dice& dice, int levels);

}  // namespace coracle::internals::test
