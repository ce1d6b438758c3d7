// What tests write and look for in memory: bytes that tell who wrote them, where and in which round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::internals::test {

/// Eight bytes that depend on who wrote them, where and in which round.
constexpr std::uint64_t pattern_word(std::uint64_t writer, std::uint64_t word, std::uint64_t round) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio
  std::uint64_t mixed = (word + 1) * kGolden + (writer << 32) + round;
  mixed = (mixed ^ mixed >> 32) * 0xbf58476d1ce4e5b9;
  return mixed ^ mixed >> 29;
}

constexpr std::byte pattern(std::uint64_t writer, std::uint64_t place, std::uint64_t round) {
  return static_cast<std::byte>(pattern_word(writer, place / 8, round) >> place % 8 * 8);
}

/// The pattern from place 0 on. These two have the optimisation of the build, since much of the tests' time goes to
/// them.
void write_pattern(std::span<std::byte> bytes, std::uint64_t writer, std::uint64_t round);
bool holds_pattern(std::span<const std::byte> bytes, std::uint64_t writer, std::uint64_t round);

}  // namespace coracle::internals::test
