// The same file from any number of ranks.
#include "apps/oocsort/generate.hpp"

#include <algorithm>
#include <cstring>

#include "apps/common/split_mix.hpp"
#include "apps/oocsort/outflow.hpp"

namespace coracle::oocsort {
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

}  // namespace coracle::oocsort
