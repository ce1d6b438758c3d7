// Records of a fixed size, known only at run time, and the order of their keys; random ones; and Outflow, which writes
// records that come one after the other, in pieces of one size, several of which are in flight.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

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

/// Must outlive the scope in which its writes run: there, too, goes what they fail with.
class Outflow {
 public:
  /// Writes bytes to an offset; the bytes stay until it has returned.
  using Write = std::function<Task<>(std::uint64_t offset, std::span<const std::byte>)>;
  static constexpr std::size_t kBuffers = 4;

  /// Pieces of `write_bytes`, and less at the end, whether or not that is whole records. Takes kBuffers times as much
  /// memory, and a record more for each.
  Outflow(std::size_t record_bytes, std::size_t write_bytes, Write write);

  /// From here on records go to `offset`. Not while any are left to write.
  void begin(std::uint64_t offset) noexcept { offset_ = offset; }
  /// Where to write the next records: room for one or more. Waits while all buffers are in flight.
  Task<std::span<std::byte>> room(Scope& scope);
  /// So much of it has been written, in whole records.
  void filled(std::size_t bytes) noexcept { fill_ += bytes; }
  /// Writes what is left and waits for all.
  Task<> finish(Scope& scope);

 private:
  Task<> advance(Scope& scope);
  void start_write(Scope& scope, std::size_t bytes);
  Task<> write_piece(std::size_t buffer, std::uint64_t offset, std::size_t bytes);

  std::size_t record_bytes_;
  std::size_t write_bytes_;
  Write write_;
  std::vector<std::byte> buffers_[kBuffers];
  Event free_[kBuffers];  // no write of this buffer is under way
  std::size_t current_ = 0;
  std::size_t fill_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace coracle::oocsort
