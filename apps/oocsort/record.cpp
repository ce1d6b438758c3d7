// Comparisons and checksums, byte by byte only where a key or record has odd ends; random records are the same from any
// number of ranks. A record that crosses the end of a piece is carried over into the next buffer.
#include "apps/oocsort/record.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "apps/common/split_mix.hpp"

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

namespace {

constexpr std::size_t kWriteBytes = 1 << 20;

Task<> write_all(Scope& scope, RecordShape shape, std::uint64_t seed, std::uint64_t first, std::uint64_t end,
                 Outflow& out) {
  out.begin(first * shape.bytes);
  while (first < end) {
    std::span<std::byte> room = co_await out.room(scope);
    room = room.first(std::min<std::uint64_t>(room.size(), (end - first) * shape.bytes));
    for (std::size_t at = 0; at < room.size(); at += shape.bytes)
      make_record(shape, seed, first++, room.subspan(at, shape.bytes));
    out.filled(room.size());
    co_await yield();
  }
  co_await out.finish(scope);
}

}  // namespace

void make_record(const RecordShape& shape, std::uint64_t seed, std::uint64_t number, std::span<std::byte> record) {
  const std::uint64_t words = (shape.key_bytes + 7) / 8;
  for (std::uint64_t word = 0; word < words; ++word) {
    const std::uint64_t random = SplitMix64::at(seed, number * words + word);
    std::memcpy(record.data() + word * 8, &random, std::min<std::size_t>(8, shape.key_bytes - word * 8));
  }
  const std::span<std::byte> rest = record.subspan(shape.key_bytes);
  std::ranges::fill(rest, std::byte{0});
  if (!rest.empty()) std::memcpy(rest.data(), &number, std::min<std::size_t>(8, rest.size()));
}

Task<> write_records(Rank& self, RecordShape shape, std::uint64_t seed, std::uint64_t first, std::uint64_t end,
                     const File& file) {
  Io& io = self.loop().io();
  Outflow out(shape.bytes, kWriteBytes, [&io, &file](std::uint64_t offset, std::span<const std::byte> bytes) {
    return write_fully(io, file, offset, bytes.data(), bytes.size());
  });
  co_await with_scope(write_all, shape, seed, first, end, std::ref(out));
}

Outflow::Outflow(std::size_t record_bytes, std::size_t write_bytes, Write write)
    : record_bytes_(record_bytes), write_bytes_(write_bytes), write_(std::move(write)) {
  for (std::vector<std::byte>& buffer : buffers_) buffer.resize(write_bytes + record_bytes);
  for (Event& free : free_) free.set();
}

Task<std::span<std::byte>> Outflow::room(Scope& scope) {
  while (fill_ >= write_bytes_) co_await advance(scope);
  const std::size_t records = (write_bytes_ - fill_ + record_bytes_ - 1) / record_bytes_;
  std::span<std::byte> free = std::span(buffers_[current_]).subspan(fill_, records * record_bytes_);
  co_return free;
}

Task<> Outflow::advance(Scope& scope) {
  const std::size_t next = (current_ + 1) % kBuffers;
  co_await free_[next];
  std::memcpy(buffers_[next].data(), buffers_[current_].data() + write_bytes_, fill_ - write_bytes_);
  start_write(scope, write_bytes_);
  current_ = next;
  fill_ -= write_bytes_;
}

void Outflow::start_write(Scope& scope, std::size_t bytes) {
  free_[current_].reset();
  scope.spawn(write_piece(current_, offset_, bytes));
  offset_ += bytes;
}

Task<> Outflow::write_piece(std::size_t buffer, std::uint64_t offset, std::size_t bytes) {
  const std::span<const std::byte> piece(buffers_[buffer].data(), bytes);
  co_await write_(offset, piece);
  free_[buffer].set();
}

Task<> Outflow::finish(Scope& scope) {
  while (fill_ > write_bytes_) co_await advance(scope);
  if (fill_ > 0) start_write(scope, fill_);
  fill_ = 0;
  for (Event& free : free_) co_await free;
  current_ = 0;
}

}  // namespace coracle::oocsort
