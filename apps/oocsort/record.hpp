// Records of a fixed size, known only at run time, and the order of their keys; and random ones.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "apps/common/file.hpp"

namespace coracle::oocsort {

/// bytes: as memcmp has it. little: as unsigned little-endian numbers.
enum class KeyOrder : std::uint8_t { little, bytes };

inline constexpr std::size_t kRecordBytesMax = 65536;

/// The key is the beginning of a record.
struct RecordShape {
  std::size_t bytes = 16;
  std::size_t key_bytes = 8;
  KeyOrder order = KeyOrder::little;

  /// The key's 8 most significant bytes as a number that is ordered as they are; shorter keys are filled with zeroes.
  std::uint64_t prefix(const std::byte* record) const noexcept {
    std::uint64_t value = 0;
    if (key_bytes >= 8) {
      std::memcpy(&value, record + (order == KeyOrder::little ? key_bytes - 8 : 0), 8);
      return order == KeyOrder::little ? value : __builtin_bswap64(value);
    }
    std::memcpy(&value, record, key_bytes);
    return order == KeyOrder::little ? value : __builtin_bswap64(value);
  }
  /// Whether equal prefixes mean equal keys.
  bool prefix_is_all() const noexcept { return key_bytes <= 8; }
  /// Below zero, zero or above, as memcmp; of the keys alone.
  int compare(const std::byte* left, const std::byte* right) const noexcept;
};

/// The same for any order of the same records, and all but surely another for other records: a sum of hashes, to which
/// the sums of parts add up.
std::uint64_t checksum(std::span<const std::byte> records, std::size_t record_bytes) noexcept;

/// Record `number`: a random key, then as much of its number as fits, then zeroes. `record` is of shape.bytes.
void make_record(const RecordShape& shape, std::uint64_t seed, std::uint64_t number, std::span<std::byte> record);

/// Writes records `first` to `end` to their places in `file`.
Task<> write_records(Rank& self, RecordShape shape, std::uint64_t seed, std::uint64_t first, std::uint64_t end,
                     const File& file);

}  // namespace coracle::oocsort
