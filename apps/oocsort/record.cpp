// Comparisons and checksums, byte by byte only where a key or record has odd ends.
#include "apps/oocsort/record.hpp"

namespace coracle::oocsort {
namespace {

/// The finaliser of MurmurHash3 (Appleby).
std::uint64_t mixed(std::uint64_t z) noexcept {
  z = (z ^ (z >> 33U)) * 0xff51afd7ed558ccdULL;
  z = (z ^ (z >> 33U)) * 0xc4ceb9fe1a85ec53ULL;
  return z ^ (z >> 33U);
}

std::uint64_t hash(const std::byte* record, std::size_t bytes) noexcept {
  std::uint64_t value = 0x9e3779b97f4a7c15ULL ^ bytes;
  for (; bytes >= 8; record += 8, bytes -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, record, 8);
    value = mixed(value * 5 + word);
  }
  if (bytes > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, record, bytes);
    value = mixed(value * 5 + word);
  }
  return value;
}

}  // namespace

int RecordShape::compare(const std::byte* left, const std::byte* right) const noexcept {
  const std::uint64_t left_prefix = prefix(left);
  const std::uint64_t right_prefix = prefix(right);
  if (left_prefix != right_prefix) return left_prefix < right_prefix ? -1 : 1;
  if (prefix_is_all()) return 0;
  if (order == KeyOrder::bytes) return std::memcmp(left + 8, right + 8, key_bytes - 8);
  for (std::size_t i = key_bytes - 8; i-- > 0;) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

std::uint64_t checksum(std::span<const std::byte> records, std::size_t record_bytes) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < records.size(); at += record_bytes) sum += hash(records.data() + at, record_bytes);
  return sum;
}

}  // namespace coracle::oocsort
