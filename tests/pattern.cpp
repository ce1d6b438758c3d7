#include "tests/pattern.hpp"

#include <bit>
#include <cstring>

namespace coracle::internals::test {

// A word's first byte in memory is its lowest.
static_assert(std::endian::native == std::endian::little);

void write_pattern(std::span<std::byte> bytes, std::uint64_t writer, std::uint64_t round) {
  const std::size_t words = bytes.size() / 8;
  for (std::size_t word = 0; word < words; ++word) {
    const std::uint64_t wanted = pattern_word(writer, word, round);
    std::memcpy(&bytes[word * 8], &wanted, 8);
  }
  for (std::size_t i = words * 8; i < bytes.size(); ++i) bytes[i] = pattern(writer, i, round);
}

bool holds_pattern(std::span<const std::byte> bytes, std::uint64_t writer, std::uint64_t round) {
  const std::size_t words = bytes.size() / 8;
  for (std::size_t word = 0; word < words; ++word) {
    std::uint64_t found;
    std::memcpy(&found, &bytes[word * 8], 8);
    if (found != pattern_word(writer, word, round)) return false;
  }
  for (std::size_t i = words * 8; i < bytes.size(); ++i)
    if (bytes[i] != pattern(writer, i, round)) return false;
  return true;
}

}  // namespace coracle::internals::test
