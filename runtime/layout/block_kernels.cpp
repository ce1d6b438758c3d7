// Kernels by block length. All loads and stores are memcpy of fixed sizes, which compilers make single instructions of.
#include "runtime/layout/block_kernels.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::layouts {
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
    std::memcpy(target, source, bytes);
  }
};

constexpr std::uint64_t kShortMax = 128;

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

template <class Way>
void move_strided(std::byte* target, const Places& to, const std::byte* source, const Places& from,
                  const Extents& all) noexcept {
  for (std::int64_t row = 0; row < all.rows; ++row, target += to.row_stride, source += from.row_stride) {
    std::byte* write = target;
    const std::byte* read = source;
    for (std::int64_t i = 0; i < all.count; ++i, write += to.stride, read += from.stride)
      Way::move(write, read, all.bytes);
  }
}

template <class Way>
void gather(std::byte* target, const Places& to, const std::byte* source, const Places& from,
            const Extents& all) noexcept {
  for (std::int64_t row = 0; row < all.rows; ++row, target += to.row_stride, source += from.row_stride) {
    std::byte* write = target;
    for (std::int64_t i = 0; i < all.count; ++i, write += to.stride)
      Way::move(write, source + from.offsets[i], all.bytes);
  }
}

template <class Way>
void scatter(std::byte* target, const Places& to, const std::byte* source, const Places& from,
             const Extents& all) noexcept {
  for (std::int64_t row = 0; row < all.rows; ++row, target += to.row_stride, source += from.row_stride) {
    const std::byte* read = source;
    for (std::int64_t i = 0; i < all.count; ++i, read += from.stride)
      Way::move(target + to.offsets[i], read, all.bytes);
  }
}

template <class Way>
void move_listed(std::byte* target, const Places& to, const std::byte* source, const Places& from,
                 const Extents& all) noexcept {
  for (std::int64_t row = 0; row < all.rows; ++row, target += to.row_stride, source += from.row_stride)
    for (std::int64_t i = 0; i < all.count; ++i) Way::move(target + to.offsets[i], source + from.offsets[i], all.bytes);
}

void move_one(std::byte* target, const std::byte* source, std::uint64_t bytes) noexcept {
  with_way(bytes, [&](auto way) { decltype(way)::move(target, source, bytes); });
}

}  // namespace

void move_blocks(std::byte* target, const Places& to, const std::byte* source, const Places& from,
                 std::uint64_t block_bytes, std::int64_t count, std::int64_t rows) noexcept {
  const Extents all{block_bytes, count, rows};
  with_way(block_bytes, [&](auto way) {
    using Way = decltype(way);
    if (to.offsets == nullptr)
      from.offsets == nullptr ? move_strided<Way>(target, to, source, from, all)
                              : gather<Way>(target, to, source, from, all);
    else
      from.offsets == nullptr ? scatter<Way>(target, to, source, from, all)
                              : move_listed<Way>(target, to, source, from, all);
  });
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

}  // namespace coracle::layouts
