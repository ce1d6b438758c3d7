// Kernels by block length. All loads and stores are memcpy of fixed sizes, which compilers make single instructions of.
#include "runtime/layout/block_kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "runtime/core/cpu.hpp"

namespace coracle::internals::layouts {
namespace {

// How one block is moved. Lengths between powers of two take two pieces that overlap: no branch, no byte outside.

struct UpToThree {
  static void move(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
    for (std::uint64_t i = 0; i < bytes; ++i) target[i] = source[i];
  }
};

template <std::uint64_t Bytes>
struct Exactly {
  static void move(std::byte* target, const std::byte* source, std::uint64_t) noexcept {
    std::memcpy(target, source, Bytes);
  }
};

/// From Bytes to 2 * Bytes.
template <std::uint64_t Bytes>
struct TwoPieces {
  static void move(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
    std::byte first[Bytes];
    std::byte last[Bytes];
    std::memcpy(first, source, Bytes);
    std::memcpy(last, source + bytes - Bytes, Bytes);
    std::memcpy(target, first, Bytes);
    std::memcpy(target + bytes - Bytes, last, Bytes);
  }
};

/// As many pieces of 16 bytes, the last one overlapping the one before.
template <int Pieces>
struct Sixteens {
  static void move(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
    for (int i = 0; i < Pieces - 1; ++i) std::memcpy(target + 16 * i, source + 16 * i, 16);
    std::memcpy(target + bytes - 16, source + bytes - 16, 16);
  }
};

struct Long {
  static void move(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
    move_run(target, source, bytes);
  }
};

constexpr std::uint64_t kShortMax = 128;
constexpr std::int64_t kLine = 64;
/// Fewer lines are still in the cache when the next row comes.
constexpr std::int64_t kFarBlocksMin = 64;
constexpr std::uint64_t kPage = 4096;
/// Of fewer blocks, or nearer ones, the lines are in the first-level cache, and asking for them only costs.
constexpr std::int64_t kSpreadBlocksMin = 256;
constexpr std::int64_t kSpreadBytesMin = 64 << 10;
/// So many blocks before they are stored.
constexpr std::int64_t kAhead = 16;
/// Fewer blocks are not worth a buffer.
constexpr std::int64_t kBufferedMin = 16;

/// Calls `visit` with the way for blocks of this length.
template <class Visit>
void with_way(std::uint64_t bytes, Visit visit) noexcept {
  if (bytes > kShortMax) return visit(Long{});
  if (bytes < 16) {
    if (bytes < 4) return visit(UpToThree{});
    if (bytes == 4) return visit(Exactly<4>{});
    if (bytes < 8) return visit(TwoPieces<4>{});
    if (bytes == 8) return visit(Exactly<8>{});
    return visit(TwoPieces<8>{});
  }
  switch ((bytes + 15) / 16) {
    case 1:
      return visit(Sixteens<1>{});
    case 2:
      return visit(Sixteens<2>{});
    case 3:
      return visit(Sixteens<3>{});
    case 4:
      return visit(Sixteens<4>{});
    case 5:
      return visit(Sixteens<5>{});
    case 6:
      return visit(Sixteens<6>{});
    case 7:
      return visit(Sixteens<7>{});
    default:
      return visit(Sixteens<8>{});
  }
}

struct Extents {
  std::uint64_t bytes;
  std::int64_t count;
  std::int64_t rows;
};

// What comes by value stays in registers: a store through std::byte* might change anything that lies in memory.

template <class Way>
void row_strided(std::byte* target, std::int64_t to, const std::byte* source, std::int64_t from, std::int64_t count,
                 std::uint64_t bytes) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i, target += to, source += from) Way::move(target, source, bytes);
}

/// The same, and asks for the blocks of this row, and then of the next, that come kAhead later.
template <class Way>
void row_strided_ahead(std::byte* target, std::int64_t to, const std::byte* source, std::int64_t from,
                       std::int64_t count, std::uint64_t bytes, std::byte* next) noexcept {
  const std::int64_t announced = count - kAhead;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < announced; ++i, target += to, source += from) {
    prefetch_for_writing(target + kAhead * to, 1);
    Way::move(target, source, bytes);
  }
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < kAhead; ++i, target += to, source += from, next += to) {
    prefetch_for_writing(next, 1);
    Way::move(target, source, bytes);
  }
}

template <class Way, class Offset>
void row_gathered(std::byte* target, std::int64_t to, const std::byte* source, const Offset* offsets,
                  std::int64_t count, std::uint64_t bytes) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i, target += to) Way::move(target, source + offsets[i], bytes);
}

template <class Way, class Offset>
void row_scattered(std::byte* target, const Offset* offsets, const std::byte* source, std::int64_t from,
                   std::int64_t count, std::uint64_t bytes) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i, source += from) Way::move(target + offsets[i], source, bytes);
}

/// Whether the blocks are spread over more than a first-level cache, as far as some of them tell.
template <class Offset>
bool are_spread(const Offset* offsets, std::int64_t count) noexcept {
  constexpr std::int64_t kSamples = 8;
  if (count < kSpreadBlocksMin) return false;
  std::int64_t least = offsets[0];
  std::int64_t most = offsets[0];
  for (std::int64_t i = 1; i <= kSamples; ++i) {
    const std::int64_t offset = offsets[i * (count - 1) / kSamples];
    least = std::min(least, offset);
    most = std::max(most, offset);
  }
  return most - least > kSpreadBytesMin;
}

/// Stores leave the processor in order, each waiting for its line; so lines are asked for some blocks ahead.
template <class Way, class Offset>
void row_spread(std::byte* target, const Offset* offsets, const std::byte* source, std::int64_t from,
                std::int64_t count, std::uint64_t bytes) noexcept {
  const std::int64_t announced = count - kAhead;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < announced; ++i, source += from) {
    prefetch_for_writing(target + offsets[i + kAhead], 1);
    Way::move(target + offsets[i], source, bytes);
  }
  row_scattered<Way>(target, offsets + announced, source, from, kAhead, bytes);
}

template <class Way, class Offset>
void scatter_row(std::byte* target, const Offset* offsets, const std::byte* source, std::int64_t from,
                 std::int64_t count, std::uint64_t bytes) noexcept {
  if (bytes <= kShortMax && are_spread(offsets, count))
    row_spread<Way>(target, offsets, source, from, count, bytes);
  else
    row_scattered<Way>(target, offsets, source, from, count, bytes);
}

template <class Way, class Offset>
void row_listed(std::byte* target, const Offset* to, const std::byte* source, const Offset* from, std::int64_t count,
                std::uint64_t bytes) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i) Way::move(target + to[i], source + from[i], bytes);
}

template <class Way>
void move_row(std::byte* target, const Displacements& to, const std::byte* source, const Displacements& from,
              const Extents& all) noexcept {
  const std::int64_t count = all.count;
  const std::uint64_t bytes = all.bytes;
  if (to.offsets == nullptr && from.offsets == nullptr)
    row_strided<Way>(target, to.stride, source, from.stride, count, bytes);
  else if (to.offsets == nullptr && from.narrow != nullptr)
    row_gathered<Way>(target, to.stride, source, from.narrow, count, bytes);
  else if (to.offsets == nullptr)
    row_gathered<Way>(target, to.stride, source, from.offsets, count, bytes);
  else if (from.offsets == nullptr && to.narrow != nullptr)
    scatter_row<Way>(target, to.narrow, source, from.stride, count, bytes);
  else if (from.offsets == nullptr)
    scatter_row<Way>(target, to.offsets, source, from.stride, count, bytes);
  else if (to.narrow != nullptr && from.narrow != nullptr)
    row_listed<Way>(target, to.narrow, source, from.narrow, count, bytes);
  else
    row_listed<Way>(target, to.offsets, source, from.offsets, count, bytes);
}

/// Whether loads follow stores to the same place of another page: the processor takes them for the same memory at first
/// and waits. It is so where both sides begin at the same place of a page, and their step is near a multiple of a page
/// or of a large part of it.
bool loads_wait_for_stores(const std::byte* target, const Displacements& to, const std::byte* source,
                           const Displacements& from, const Extents& all) noexcept {
  if (to.offsets != nullptr || from.offsets != nullptr || to.stride != from.stride) return false;
  if (std::abs(to.stride) < kLine || all.bytes > kShortMax || all.count < kBufferedMin) return false;
  const auto apart = reinterpret_cast<std::uintptr_t>(source) - reinterpret_cast<std::uintptr_t>(target);
  for (std::uint64_t ahead = 1; ahead <= 4; ++ahead) {
    const std::uint64_t place = (apart + ahead * static_cast<std::uint64_t>(from.stride)) % kPage;
    if (std::min(place, kPage - place) < all.bytes) return true;
  }
  return false;
}

/// By way of a buffer: loads and stores apart.
template <class Way>
void row_buffered(std::byte* target, std::int64_t to, const std::byte* source, std::int64_t from, std::int64_t count,
                  std::uint64_t bytes) noexcept {
  std::byte buffer[1024];
  const auto step = static_cast<std::int64_t>(bytes);
  const std::int64_t most = std::ssize(buffer) / step;
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t now = std::min(most, count - done);
    row_strided<Way>(buffer, step, source + done * from, from, now, bytes);
    row_strided<Way>(target + done * to, to, buffer, step, now, bytes);
  }
}

/// Whether rows lie so near each other that a row of far blocks touches cache lines which the next one needs too, and
/// would find gone again: a transposition.
bool shares_lines(const Displacements& places, const Extents& all) noexcept {
  const bool far_blocks = std::abs(places.stride) >= kLine && all.count >= kFarBlocksMin;
  return places.offsets == nullptr && far_blocks && places.row_stride != 0 && 2 * std::abs(places.row_stride) <= kLine;
}

/// Takes as many rows together as one line of the side `shared` has blocks of, from its beginning to its end.
template <class Way>
void move_tiles(std::byte* target, const Displacements& to, const std::byte* source, const Displacements& from,
                const Extents& all, const std::byte* shared, std::int64_t apart) noexcept {
  const auto in_line = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(shared) % kLine);
  const std::int64_t rows_per_line = kLine / std::abs(apart);
  const std::int64_t ahead = apart > 0 ? kLine - in_line : in_line + 1;
  std::int64_t rows = std::clamp<std::int64_t>((ahead + std::abs(apart) - 1) / std::abs(apart), 1, rows_per_line);
  for (std::int64_t row = 0; row < all.rows; row += rows, rows = rows_per_line) {
    rows = std::min(rows, all.rows - row);
    std::byte* write = target + row * to.row_stride;
    const std::byte* read = source + row * from.row_stride;
    for (std::int64_t i = 0; i < all.count; ++i, write += to.stride, read += from.stride)
      row_strided<Way>(write, to.row_stride, read, from.row_stride, rows, all.bytes);
  }
}

/// Whether what is packed goes to rows of short blocks in many lines, which may no longer be near. Where blocks are
/// farther apart the translation of addresses is what takes the time, and asking makes it no shorter.
bool goes_to_many_lines(const Displacements& to, const Displacements& from, const Extents& all) noexcept {
  constexpr std::int64_t kFarMax = 512;
  if (to.offsets != nullptr || from.offsets != nullptr || all.bytes > kShortMax || all.count < 2 * kAhead) return false;
  const std::int64_t apart = std::abs(to.stride);
  const auto bytes = static_cast<std::int64_t>(all.bytes);
  if (from.stride != bytes || apart < std::max(kLine, 2 * bytes) || apart > kFarMax) return false;
  return all.rows > kSpreadBytesMin / kLine / all.count;
}

template <class Way>
void move_rows(std::byte* target, const Displacements& to, const std::byte* source, const Displacements& from,
               const Extents& all) noexcept {
  if (all.rows > 1 && to.offsets == nullptr && from.offsets == nullptr) {
    if (shares_lines(from, all)) return move_tiles<Way>(target, to, source, from, all, source, from.row_stride);
    if (shares_lines(to, all)) return move_tiles<Way>(target, to, source, from, all, target, to.row_stride);
  }
  if (goes_to_many_lines(to, from, all)) {
    for (std::int64_t row = 0; row < all.rows; ++row, target += to.row_stride, source += from.row_stride) {
      std::byte* const next = row + 1 < all.rows ? target + to.row_stride : target;
      row_strided_ahead<Way>(target, to.stride, source, from.stride, all.count, all.bytes, next);
    }
    return;
  }
  const bool buffered = loads_wait_for_stores(target, to, source, from, all);
  for (std::int64_t row = 0; row < all.rows; ++row, target += to.row_stride, source += from.row_stride)
    if (buffered)
      row_buffered<Way>(target, to.stride, source, from.stride, all.count, all.bytes);
    else
      move_row<Way>(target, to, source, from, all);
}

void move_one(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
  with_way(bytes, [&](auto way) { decltype(way)::move(target, source, bytes); });
}

}  // namespace

void move_run(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kPiece = 1024;
  // From here on the C library goes past the caches, which pieces would keep it from.
  constexpr std::uint64_t kLarge = 8 << 20;
  for (; bytes > kPiece && bytes < kLarge; bytes -= kPiece, target += kPiece, source += kPiece) {
    std::uint64_t piece = kPiece;
    asm("" : "+r"(piece));  // Compilers make string moves of a length that they know.
    std::memcpy(target, source, piece);
  }
  std::memcpy(target, source, bytes);
}

void move_blocks(std::byte* target, const Displacements& to, const std::byte* source, const Displacements& from,
                 std::uint64_t block_bytes, std::int64_t count, std::int64_t rows) noexcept {
  const Extents all{block_bytes, count, rows};
  with_way(block_bytes, [&](auto way) { move_rows<decltype(way)>(target, to, source, from, all); });
}

void gather_unequal(std::byte* target, const std::byte* source, const std::int64_t* offsets,
                    const std::uint64_t* starts, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i)
    move_one(target + (starts[i] - starts[0]), source + offsets[i], starts[i + 1] - starts[i]);
}

void scatter_unequal(std::byte* target, const std::byte* source, const std::int64_t* offsets,
                     const std::uint64_t* starts, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i)
    move_one(target + offsets[i], source + (starts[i] - starts[0]), starts[i + 1] - starts[i]);
}

}  // namespace coracle::internals::layouts
