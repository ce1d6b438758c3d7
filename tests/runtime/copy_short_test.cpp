// Copies of what is short, beside memcpy.
#include "runtime/core/copy_short.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace copy_short_test {

using namespace coracle::internals;

namespace {

constexpr std::size_t kLine = 64;
constexpr std::byte kUntouched{0xee};

/// Of every length and alignment.
template <class Copy>
void check(const Copy& copy) {
  std::vector<std::byte> memory(6 * kLine);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 37 % 233);  // none is 0xee
  for (std::size_t bytes = 0; bytes <= 5 * kLine; ++bytes) {
    for (std::size_t from = 0; from < kLine; from += 7) {
      for (std::size_t to = 0; to < kLine; to += 5) {
        alignas(kLine) std::byte target[7 * kLine];
        std::ranges::fill(target, kUntouched);
        const std::span<const std::byte> source(memory.data() + from, bytes);
        copy(source, target + to);
        const bool whole = std::ranges::equal(source, std::span(target + to, bytes));
        const auto touched = std::ranges::count_if(target, [](std::byte byte) { return byte != kUntouched; });
        if (whole && static_cast<std::size_t>(touched) == bytes) continue;
        FAIL("bytes ", bytes, ", from ", from, ", to ", to);
      }
    }
  }
}

}  // namespace

TEST_CASE("copy_upwards: copies every length from and to every alignment, and nothing else") {
  check(
      [](std::span<const std::byte> source, std::byte* target) { copy_upwards(source.data(), target, source.size()); });
}

TEST_CASE("copy_short: copies every length from and to every alignment, and nothing else") {
  check([](std::span<const std::byte> source, std::byte* target) { copy_short(source, target); });
  std::byte there{kUntouched};
  copy_short({}, &there);
  CHECK(there == kUntouched);
}

}  // namespace copy_short_test
