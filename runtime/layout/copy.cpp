// Two cursors side by side: each step takes as many blocks as the groups of both allow to one kernel.
#include "runtime/layout/layout.hpp"

#include <algorithm>
#include <type_traits>

#include "runtime/core/assert.hpp"
#include "runtime/layout/block_kernels.hpp"
#include "runtime/layout/cursor.hpp"

namespace coracle::internals {
namespace {

using layouts::Cursor;
using layouts::Displacements;
using layouts::Group;

std::uint64_t bytes_of(const Layout& layout, std::uint64_t count) {
  std::uint64_t bytes = 0;
  const bool fits = !__builtin_mul_overflow(layout.size(), count, &bytes) && bytes >> 63 == 0;
  CORACLE_ASSERT(fits, "{} repetitions of {} bytes are more than 2^63 bytes", count, layout.size());
  return bytes;
}

std::int64_t as_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}
std::uint64_t as_unsigned(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

/// A group as pieces of `bytes` each, as rows of `count`: its blocks, or parts of them, or of the first one only if
/// they are unequal or can't be divided.
struct Pieces {
  std::int64_t count;
  std::int64_t rows;
  Displacements places;
};

Pieces pieces_of(const Group& group, std::uint64_t bytes) {
  if (group.starts == nullptr && group.block_bytes == bytes)
    return {group.count, group.rows, static_cast<const Displacements&>(group)};
  const bool divisible = group.offsets == nullptr && group.count > 1 && group.block_bytes % bytes == 0;
  const std::int64_t in_block = as_signed(group.block_bytes / bytes);
  return {in_block, divisible ? group.count : 1, {as_signed(bytes), divisible ? group.stride : 0, nullptr, nullptr}};
}

/// Where the first piece lies, or that from which its offsets count.
std::int64_t origin_of(const Group& group, const Pieces& pieces) {
  return pieces.places.offsets == nullptr ? group.first_block() : group.offset;
}

/// How many of unequal blocks fit into so many bytes.
std::int64_t blocks_within(const Group& group, std::uint64_t bytes) {
  const std::uint64_t* const starts = group.starts;
  if (starts[group.count] - starts[0] <= bytes) return group.count;
  return std::upper_bound(starts, starts + group.count + 1, starts[0] + bytes) - starts - 1;
}

/// Makes `wide` rows of `count` pieces each, out of its first row.
void fold(Pieces& wide, std::int64_t count) {
  wide.rows = wide.count / count;
  wide.places.row_stride = count * wide.places.stride;
  wide.count = count;
}

/// The two sides in rows of equal length; where that takes the first row of one of them, its rest comes later.
void match(Pieces& first, Pieces& second, std::uint64_t pieces_max) {
  const std::int64_t most = as_signed(std::min<std::uint64_t>(pieces_max, INT64_MAX));
  std::int64_t count = std::min({first.count, second.count, most});
  for (Pieces* side : {&first, &second}) {
    if (side->count == count) continue;
    if (side->places.offsets == nullptr && side->count >= 2 * count)
      fold(*side, count);
    else
      side->rows = 1;
    side->count = count;
  }
  first.rows = second.rows = std::min({first.rows, second.rows, most / count});
}

void advance(Cursor& cursor, std::uint64_t bytes) {
  const Group& group = cursor.group();
  if (bytes >= group.block_bytes)
    cursor.advance_blocks(as_signed(bytes / group.block_bytes));
  else
    cursor.advance_bytes(bytes);
}

/// The most that one kernel can move of what both groups begin with.
struct Step {
  std::uint64_t piece_bytes;
  Pieces to;
  Pieces from;

  Step(const Group& to_group, const Group& from_group, std::uint64_t left)
      : piece_bytes(std::min({to_group.block_bytes, from_group.block_bytes, left})),
        to(pieces_of(to_group, piece_bytes)),
        from(pieces_of(from_group, piece_bytes)) {
    match(to, from, left / piece_bytes);
  }
  std::uint64_t bytes() const { return piece_bytes * as_unsigned(to.count * to.rows); }
  void run(std::byte* target, const Group& to_group, const std::byte* source, const Group& from_group) const {
    layouts::move_blocks(target + origin_of(to_group, to), to.places, source + origin_of(from_group, from), from.places,
                         piece_bytes, to.count, to.rows);
  }
};

struct Walk {
  std::byte* target_origin;
  const std::byte* source_origin;
  Cursor target;
  Cursor source;
  std::uint64_t left;

  /// Unequal blocks of one side that all fit the other side's block: gives false when there are none.
  template <bool Gathers>
  bool move_unequal();
  void move_equal();
  void run();
};

template <bool Gathers>
bool Walk::move_unequal() {
  Cursor& listed = Gathers ? source : target;
  Cursor& whole = Gathers ? target : source;
  if (listed.group().starts == nullptr) return false;
  const Group& group = listed.group();
  const std::int64_t count = blocks_within(group, std::min(whole.group().block_bytes, left));
  if (count == 0) return false;
  const std::uint64_t bytes = group.starts[count] - group.starts[0];
  const std::int64_t place = whole.group().first_block();
  if constexpr (Gathers)
    layouts::gather_unequal(target_origin + place, source_origin + group.offset, group.offsets, group.starts, count);
  else
    layouts::scatter_unequal(target_origin + group.offset, source_origin + place, group.offsets, group.starts, count);
  listed.advance_blocks(count);
  whole.advance_bytes(bytes);
  left -= bytes;
  return true;
}

void Walk::move_equal() {
  const Step step(target.group(), source.group(), left);
  step.run(target_origin, target.group(), source_origin, source.group());
  const std::uint64_t bytes = step.bytes();
  advance(target, bytes);
  advance(source, bytes);
  left -= bytes;
}

void Walk::run() {
  while (left > 0)
    if (!move_unequal<true>() && !move_unequal<false>()) move_equal();
}

/// Without cursors, if one step does it all; else does nothing and gives false.
bool move_at_once(const ScatteredTarget& target, const ScatteredSource& source, std::uint64_t bytes) {
  Group to;
  Group from;
  if (!layouts::is_one_group(target.layout, target.count, to) ||
      !layouts::is_one_group(source.layout, source.count, from) || to.starts != nullptr || from.starts != nullptr)
    return false;
  const Step step(to, from, bytes);
  if (step.bytes() != bytes) return false;
  step.run(static_cast<std::byte*>(target.origin), to, static_cast<const std::byte*>(source.origin), from);
  return true;
}

/// Between scattered memory and a run of packed bytes: only one side has groups.
template <bool Packs>
class Stream {
 public:
  using Scattered = std::conditional_t<Packs, const std::byte, std::byte>;
  using Packed = std::conditional_t<Packs, std::byte, const std::byte>;

  Stream(Scattered* origin, Packed* packed, std::uint64_t bytes) : origin_(origin), packed_(packed), left_(bytes) {}

  void run(Cursor& cursor) {
    while (left_ > 0) {
      const Group& group = cursor.group();
      if (group.starts != nullptr)
        move_unequal(group, cursor);
      else
        move_equal(group, cursor);
    }
  }
  /// Gives false, and does nothing, if there is more in the group.
  bool run(const Group& group) {
    const std::uint64_t row_bytes = group.block_bytes * as_unsigned(group.count);
    if (row_bytes * as_unsigned(group.rows) > left_) return false;
    move(group, group.block_bytes, group.count, group.rows);
    return true;
  }

 private:
  void move(const Group& group, std::uint64_t block_bytes, std::int64_t count, std::int64_t rows) {
    const std::int64_t row_bytes = as_signed(block_bytes) * count;
    const Displacements packed{as_signed(block_bytes), row_bytes, nullptr, nullptr};
    if constexpr (Packs)
      layouts::move_blocks(packed_, packed, origin_ + group.offset, group, block_bytes, count, rows);
    else
      layouts::move_blocks(origin_ + group.offset, group, packed_, packed, block_bytes, count, rows);
    packed_ += row_bytes * rows;
    left_ -= as_unsigned(row_bytes * rows);
  }

  /// As much of the group as there is room for: all, or whole rows, or blocks of the first, or a part of its first
  /// block.
  void move_equal(const Group& group, Cursor& cursor) {
    if (run(group)) return cursor.advance_group();
    const std::uint64_t row_bytes = group.block_bytes * as_unsigned(group.count);
    std::int64_t count = group.count;
    std::int64_t rows = as_signed(left_ / row_bytes);
    if (rows == 0) {
      rows = 1;
      count = as_signed(left_ / group.block_bytes);
    }
    if (count == 0) {
      const std::uint64_t bytes = left_;
      move(group, bytes, 1, 1);
      return cursor.advance_bytes(bytes);
    }
    move(group, group.block_bytes, count, rows);
    cursor.advance_blocks(count * rows);
  }

  void move_unequal(const Group& group, Cursor& cursor) {
    const std::int64_t count = blocks_within(group, left_);
    if (count == 0) {
      const std::uint64_t bytes = left_;
      move(group, bytes, 1, 1);
      return cursor.advance_bytes(bytes);
    }
    const std::uint64_t bytes = group.starts[count] - group.starts[0];
    if constexpr (Packs)
      layouts::gather_unequal(packed_, origin_ + group.offset, group.offsets, group.starts, count);
    else
      layouts::scatter_unequal(origin_ + group.offset, packed_, group.offsets, group.starts, count);
    packed_ += bytes;
    left_ -= bytes;
    cursor.advance_blocks(count);
  }

  Scattered* origin_;
  Packed* packed_;
  std::uint64_t left_;
};

template <bool Packs, class Origin, class Packed>
void stream(Origin* origin, const Layout& layout, std::uint64_t count, std::uint64_t position, Packed* packed,
            std::uint64_t bytes) {
  if (layout.is_contiguous()) {
    auto* const run = origin + layout.first_byte() + as_signed(position);
    if constexpr (Packs)
      layouts::move_run(packed, run, bytes);
    else
      layouts::move_run(run, packed, bytes);
    return;
  }
  Stream<Packs> stream(origin, packed, bytes);
  Group group;
  if (position == 0 && layouts::is_one_group(layout, count, group) && group.starts == nullptr && stream.run(group))
    return;
  Cursor cursor(layout, count, position);
  stream.run(cursor);
}

/// As much as there is on both sides; gives the bytes.
template <bool Packs, class Origin, class Scattered, class Packed>
std::uint64_t stream_all(Origin* origin, const Scattered& scattered, std::uint64_t position, std::span<Packed> packed) {
  const std::uint64_t all = bytes_of(scattered.layout, scattered.count);
  CORACLE_ASSERT(position <= all, "pack or unpack from byte {} on, of {}", position, all);
  const std::uint64_t bytes = std::min<std::uint64_t>(all - position, packed.size());
  if (bytes > 0) stream<Packs>(origin, scattered.layout, scattered.count, position, packed.data(), bytes);
  return bytes;
}

}  // namespace

std::uint64_t pack(const ScatteredSource& source, std::uint64_t position, std::span<std::byte> room) {
  return stream_all<true>(static_cast<const std::byte*>(source.origin), source, position, room);
}

std::uint64_t unpack(std::span<const std::byte> packed, std::uint64_t position, const ScatteredTarget& target) {
  return stream_all<false>(static_cast<std::byte*>(target.origin), target, position, packed);
}

void copy(const ScatteredTarget& target, const ScatteredSource& source, std::uint64_t position, std::uint64_t bytes) {
  for (const std::uint64_t all : {bytes_of(target.layout, target.count), bytes_of(source.layout, source.count)})
    CORACLE_ASSERT(position <= all && bytes <= all - position, "copy of {} bytes from {} on, of {}", bytes, position,
                   all);
  if (bytes == 0) return;
  auto* const to = static_cast<std::byte*>(target.origin);
  const auto* const from = static_cast<const std::byte*>(source.origin);
  if (target.layout.is_contiguous())
    return stream<true>(from, source.layout, source.count, position,
                        to + target.layout.first_byte() + as_signed(position), bytes);
  if (source.layout.is_contiguous())
    return stream<false>(to, target.layout, target.count, position,
                         from + source.layout.first_byte() + as_signed(position), bytes);
  if (position == 0 && move_at_once(target, source, bytes)) return;
  Walk{to, from, Cursor(target.layout, target.count, position), Cursor(source.layout, source.count, position), bytes}
      .run();
}

}  // namespace coracle::internals
