// One piece is checked while the next is read.
#include "apps/oocsort/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace coracle::oocsort {
namespace {

/// The records from `next` to `end`, in two halves of a buffer whose first record is the one before each half's.
struct Reading {
  const Plan& plan;
  const File& file;
  Io& io;
  std::uint64_t next;
  std::uint64_t end;
  std::uint64_t piece;  // records
  std::vector<std::byte> halves[2]{};
};

Task<> read_piece(Reading& reading, std::size_t half, std::uint64_t first) {
  const std::uint64_t count = std::min(reading.piece, reading.end - first);
  std::vector<std::byte>& buffer = reading.halves[half];
  // With the record before them, so that pieces are compared with each other, too.
  const std::uint64_t from = first > 0 ? first - 1 : 0;
  buffer.resize((first + count - from) * reading.plan.shape.bytes);
  co_await read_fully(reading.io, reading.file, from * reading.plan.shape.bytes, buffer.data(), buffer.size());
}

void check_piece(const Reading& reading, std::span<const std::byte> records, std::uint64_t first) {
  const RecordShape& shape = reading.plan.shape;
  for (std::size_t at = shape.bytes; at < records.size(); at += shape.bytes) {
    if (shape.compare(records.data() + at - shape.bytes, records.data() + at) <= 0) continue;
    throw Error(std::make_error_code(std::errc::state_not_recoverable),
                fmt::format("{}: record {} comes before its predecessor: a mistake in oocsort or below, or a changed "
                            "file; sort anew, with another --place and with one rank, to see where",
                            reading.file.path(), first + at / shape.bytes));
  }
}

Task<> check_all(Scope& scope, Reading& reading, std::uint64_t& sum) {
  const std::size_t bytes = reading.plan.shape.bytes;
  std::size_t half = 0;
  std::unique_ptr<Started<>> coming;
  if (reading.next < reading.end)
    coming = std::make_unique<Started<>>(start(scope, read_piece(reading, half, reading.next)));
  while (reading.next < reading.end) {
    const std::uint64_t first = reading.next;
    co_await coming->done();
    coming.reset();
    reading.next = std::min(first + reading.piece, reading.end);
    if (reading.next < reading.end)
      coming = std::make_unique<Started<>>(start(scope, read_piece(reading, 1 - half, reading.next)));
    const std::span<const std::byte> records(reading.halves[half]);
    check_piece(reading, records, first > 0 ? first - 1 : 0);
    sum += checksum(first > 0 ? records.subspan(bytes) : records, bytes);
    half = 1 - half;
    co_await yield();
  }
}

}  // namespace

Task<std::uint64_t> check_order(Rank& self, const Plan& plan, const File& file, std::uint64_t memory) {
  constexpr std::uint64_t kPieceMax = 4 << 20;
  const std::uint64_t piece = std::max<std::uint64_t>(1, std::min(kPieceMax, memory / 8) / plan.shape.bytes);
  Reading reading{plan, file, self.loop().io(), plan.first_of(self.id()), plan.first_of(self.id() + 1), piece};
  std::uint64_t sum = 0;
  co_await with_scope(check_all, std::ref(reading), std::ref(sum));
  co_return sum;
}

}  // namespace coracle::oocsort
