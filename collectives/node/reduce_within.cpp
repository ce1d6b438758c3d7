// A phase in which each waits for all costs one turn of all ranks when they share cores, so that there are as few as
// can be: none for small data, whose givers go on at once; one for each piece of large data, and one more.
#include "collectives/node/reduce_within.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/data/blocks.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::within {
namespace {

// Of a slice, so that two of them stay in the second-level cache until the mates have copied them.
constexpr std::size_t kSliceBytesMax = 128 * 1024;

/// A piece of large data, divided into a slice for each mate.
struct Piece {
  std::size_t begin;
  Blocks slices;

  std::size_t offset(std::uint32_t place) const { return begin + slices.offset(place); }
};

/// Two rooms of this fit.
std::size_t room_bytes_max(const Board& board) noexcept {
  return std::min<std::size_t>(kSliceBytesMax, board.room_bytes_max() / 2);
}

std::size_t slice_bytes_max(Mates& mates, std::size_t bytes, std::size_t element_bytes) {
  const std::size_t limit = room_bytes_max(mates.round().board());
  const std::size_t all = (bytes / element_bytes + mates.count() - 1) / mates.count() * element_bytes;
  return std::max(std::min(limit / element_bytes * element_bytes, all), element_bytes);
}

/// `room`: where each mate has the result of its slice, from the place of its results on.
Task<> copy_slices(Mates& mates, const Piece& piece, std::size_t room, const std::byte* own,
                   std::span<std::byte> result) {
  for (std::uint32_t step = 0; step < mates.count(); ++step) {
    const std::uint32_t mate = (mates.place() + step) % mates.count();
    const std::span<std::byte> target = result.subspan(piece.offset(mate), piece.slices.bytes(mate));
    if (target.empty()) continue;
    if (mate == mates.place())
      std::memcpy(target.data(), own, target.size());
    else
      co_await mates.take_result(mate, room, target);
  }
}

}  // namespace

Task<> combine(Mates& mates, std::uint32_t mate, std::size_t offset, std::span<const std::byte> own, std::byte* result,
               const Reduction& reduction) {
  const bool before = mate < mates.place();
  const auto combine_with = [&](const std::byte* theirs) {
    reduction.combine(before ? theirs : own.data(), before ? own.data() : theirs, result, own.size());
  };
  if (own.empty()) co_return;
  if (mates.round().is_lent(mate) && mates.round().copies_at_once()) {
    const Round::Reading theirs(mates.round(), mate);
    if (theirs.address() == nullptr) co_await mates.fail_with(mate);
    combine_with(theirs.address() + offset);
    co_return;
  }
  const Scratch theirs(own.size());
  co_await mates.take(mate, offset, theirs.span());
  combine_with(theirs.data());
}

Task<> combine_all(Mates& mates, std::size_t offset, std::span<const std::byte> own, std::byte* result,
                   const Reduction& reduction) {
  std::span<const std::byte> sum = own;
  for (std::uint32_t mate = mates.place(); mate-- > 0;) {
    co_await combine(mates, mate, offset, sum, result, reduction);
    sum = {result, own.size()};
  }
  for (std::uint32_t mate = mates.place() + 1; mate < mates.count(); ++mate) {
    co_await combine(mates, mate, offset, sum, result, reduction);
    sum = {result, own.size()};
  }
  if (mates.count() == 1 && !own.empty()) std::memmove(result, own.data(), own.size());
}

Task<> reduce_small(Mates& mates, std::span<const std::byte> values, std::span<std::byte> result, std::uint32_t root,
                    const Reduction& reduction) {
  if (mates.place() != root) {
    co_await mates.give(values);
    co_return;
  }
  co_await mates.wait_for_all(1);
  mates.check_all_bytes(values.size());
  co_await combine_all(mates, 0, values, result.data(), reduction);
}

bool suits_reduce_large(Team& team, const Reduction& reduction) noexcept {
  return Mates::can_lend(team) && reduction.element_bytes <= room_bytes_max(team.board());
}

Task<std::uint64_t> reduce_large(Mates& mates, std::span<const std::byte> values, std::span<std::byte> result,
                                 const Reduction& reduction) {
  const std::size_t element = reduction.element_bytes;
  const std::size_t slice = slice_bytes_max(mates, values.size(), element);
  const std::size_t piece_bytes = slice * mates.count();
  // Two rooms for results: who combines piece k knows that all have copied those of piece k - 2.
  const std::size_t room_bytes = (slice + 63) / 64 * 64;
  std::byte* rooms = co_await mates.round().stage_when_free(2 * room_bytes);
  mates.round().lend_results(rooms);
  mates.lend(values, 1);
  co_await mates.wait_for_all(1);
  mates.check_all_bytes(values.size());
  std::uint64_t stage = 1;
  for (std::size_t begin = 0; begin < values.size(); begin += piece_bytes) {
    const std::size_t bytes = std::min(piece_bytes, values.size() - begin);
    const Piece piece{begin, Blocks::divide(mates.count(), bytes / element, element)};
    const std::size_t room = stage % 2 * room_bytes;
    const std::size_t offset = piece.offset(mates.place());
    const std::size_t own_bytes = piece.slices.bytes(mates.place());
    co_await combine_all(mates, offset, values.subspan(offset, own_bytes), rooms + room, reduction);
    ++stage;
    co_await mates.meet(stage);
    if (!result.empty()) co_await copy_slices(mates, piece, room, rooms + room, result);
  }
  co_return stage;
}

}  // namespace coracle::internals::within
