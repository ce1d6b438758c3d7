// Copies past the caches, beside the plain ones.
#include "runtime/core/cpu.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace streaming_copy_test {

using namespace coracle;
using namespace coracle::internals;

TEST_CASE("streaming_copy: copies every length from and to every alignment, and nothing else") {
  constexpr std::size_t kLine = 64;
  constexpr std::byte kUntouched{0xee};
  std::vector<std::byte> memory(1024);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 37 % 251);
  for (std::size_t bytes = 0; bytes <= 5 * kLine; ++bytes) {
    for (std::size_t from = 0; from < kLine; from += 7) {
      for (std::size_t to = 0; to < kLine; ++to) {
        alignas(64) std::byte target[7 * kLine];
        std::fill(std::begin(target), std::end(target), kUntouched);
        const std::span<const std::byte> source(memory.data() + from, bytes);
        streaming_copy(source, target + to);
        const bool whole = std::equal(source.begin(), source.end(), target + to);
        const bool before = std::all_of(target, target + to, [](std::byte byte) { return byte == kUntouched; });
        const bool after =
            std::all_of(target + to + bytes, std::end(target), [](std::byte byte) { return byte == kUntouched; });
        if (whole && before && after) continue;
        FAIL("bytes ", bytes, ", from ", from, ", to ", to);
      }
    }
  }
}

TEST_CASE("last_level_cache_bytes: is the size of caches") {
  CHECK(last_level_cache_bytes() >= 128 * 1024);
  CHECK(last_level_cache_bytes() <= std::size_t{4} << 30);
}

}  // namespace streaming_copy_test
