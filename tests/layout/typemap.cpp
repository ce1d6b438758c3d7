// Typemaps, byte by byte.
#include "tests/layout/typemap.hpp"

#include <algorithm>

namespace coracle::internals::test {

std::int64_t Typemap::true_lower_bound() const {
  return bytes.empty() ? 0 : *std::min_element(bytes.begin(), bytes.end());
}

std::int64_t Typemap::true_upper_bound() const {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()) + 1;
}

std::int64_t Typemap::lower_bound() const {
  return lower_markers.empty() ? true_lower_bound() : *std::min_element(lower_markers.begin(), lower_markers.end());
}

std::int64_t Typemap::upper_bound() const {
  return upper_markers.empty() ? true_upper_bound() : *std::max_element(upper_markers.begin(), upper_markers.end());
}

std::uint64_t Typemap::block_count() const {
  std::uint64_t blocks = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) blocks += i == 0 || bytes[i] != bytes[i - 1] + 1 ? 1 : 0;
  return blocks;
}

bool Typemap::overlaps() const {
  constexpr std::uint64_t kBitsMax = 256 << 20;  // in bytes, of which each has a bit
  const std::int64_t lowest = true_lower_bound();
  const auto reach = static_cast<std::uint64_t>(true_upper_bound() - lowest);
  if (reach > kBitsMax) {
    std::vector<std::int64_t> sorted = bytes;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  }
  std::vector<bool> seen(reach);
  for (const std::int64_t byte : bytes) {
    const auto place = static_cast<std::size_t>(byte - lowest);
    if (seen[place]) return true;
    seen[place] = true;
  }
  return false;
}

void Typemap::append(const Typemap& other, std::int64_t displacement) {
  for (const std::int64_t byte : other.bytes) bytes.push_back(byte + displacement);
  for (const std::int64_t marker : other.lower_markers) lower_markers.push_back(marker + displacement);
  for (const std::int64_t marker : other.upper_markers) upper_markers.push_back(marker + displacement);
}

Typemap Typemap::repeated(std::int64_t count) const {
  const std::int64_t apart = extent();
  Typemap all;
  for (std::int64_t i = 0; i < count; ++i) all.append(*this, i * apart);
  return all;
}

Typemap plain_bytes(std::int64_t count) {
  Typemap map;
  for (std::int64_t i = 0; i < count; ++i) map.bytes.push_back(i);
  return map;
}

}  // namespace coracle::internals::test
