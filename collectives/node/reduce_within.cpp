// A phase in which each waits for all costs one turn of all ranks when they share cores, so that there are as few as
// can be: none for small data, whose givers go on at once; one for each piece of large data, and one more.
#include "collectives/node/local_collective.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/data/blocks.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/slices.hpp"

namespace coracle::internals::within {
namespace {

// Of a slice, so that two of them stay in the second-level cache until the local members have copied them.
constexpr std::size_t kSliceBytesMax = 128 * 1024;

/// Two rooms of this fit.
std::size_t room_bytes_max(const NodeArea& node_area) noexcept {
  return std::min<std::size_t>(kSliceBytesMax, node_area.room_bytes_max() / 2);
}

std::size_t slice_bytes_max(LocalCollective& local, std::size_t bytes, std::size_t element_bytes) {
  const std::size_t limit = room_bytes_max(local.round().node_area());
  const std::size_t all = (bytes / element_bytes + local.count() - 1) / local.count() * element_bytes;
  return std::max(std::min(limit / element_bytes * element_bytes, all), element_bytes);
}

}  // namespace

Task<> copy_slices(LocalCollective& local, const Piece& piece, std::size_t room, const std::byte* own,
                   std::span<std::byte> result) {
  for (std::uint32_t distance = 0; distance < local.count(); ++distance) {
    const std::uint32_t other = (local.local_index() + distance) % local.count();
    const std::span<std::byte> target = result.subspan(piece.offset(other), piece.slices.bytes(other));
    if (target.empty()) continue;
    if (other == local.local_index())
      copy_bytes({own, target.size()}, target);
    else
      co_await local.take_result(other, room, target);
  }
}

namespace {

/// `theirs_first`: of the two operands.
Task<> combine_two(LocalCollective& local, std::uint32_t other, std::size_t offset, std::span<const std::byte> own,
                   std::byte* result, const Reduction& reduction, bool theirs_first) {
  const auto combine_with = [&](const std::byte* theirs) {
    reduction.combine(theirs_first ? theirs : own.data(), theirs_first ? own.data() : theirs, result, own.size());
  };
  if (own.empty()) co_return;
  if (local.round().is_exposed(other) && local.round().copies_at_once()) {
    const Round::Reading theirs(local.round(), other);
    if (theirs.address() == nullptr) co_await local.fail_with(other);
    combine_with(theirs.address() + offset);
    co_return;
  }
  const Scratch theirs(own.size());
  co_await local.take(other, offset, theirs.span());
  combine_with(theirs.data());
}

}  // namespace

Task<> combine(LocalCollective& local, std::uint32_t other, std::size_t offset, std::span<const std::byte> own,
               std::byte* result, const Reduction& reduction) {
  return combine_two(local, other, offset, own, result, reduction, other < local.local_index());
}

Task<> combine_in_order(LocalCollective& local, std::span<const std::byte> own, std::span<std::byte> result,
                        const Reduction& reduction) {
  const Scratch kept(own.size());  // since the result may take its place
  copy_bytes(own, kept.span());
  if (local.local_index() == 0)
    copy_bytes(own, result);
  else
    co_await local.take(0, 0, result);
  for (std::uint32_t other = 1; other < local.count(); ++other) {
    if (other == local.local_index())
      reduction.combine(result.data(), kept.data(), result.data(), result.size());
    else
      co_await combine_two(local, other, 0, result, result.data(), reduction, false);
  }
}

Task<> combine_all(LocalCollective& local, std::size_t offset, std::span<const std::byte> own, std::byte* result,
                   const Reduction& reduction) {
  std::span<const std::byte> sum = own;
  for (std::uint32_t other = local.local_index(); other-- > 0;) {
    co_await combine(local, other, offset, sum, result, reduction);
    sum = {result, own.size()};
  }
  for (std::uint32_t other = local.local_index() + 1; other < local.count(); ++other) {
    co_await combine(local, other, offset, sum, result, reduction);
    sum = {result, own.size()};
  }
  if (local.count() == 1 && !own.empty()) std::memmove(result, own.data(), own.size());
}

Task<> reduce_small(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                    std::uint32_t root, const Reduction& reduction) {
  if (local.local_index() != root) {
    co_await local.give(values);
    co_return;
  }
  co_await local.wait_for_all(1);
  local.check_all_bytes(values.size());
  co_await combine_all(local, 0, values, result.data(), reduction);
}

bool suits_reduce_large(Team& team, const Reduction& reduction) noexcept {
  return reaches(team) && reduction.element_bytes <= room_bytes_max(team.node_area());
}

Task<std::uint64_t> reduce_large(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                                 Takers takers, const Reduction& reduction) {
  const std::size_t element = reduction.element_bytes;
  const std::size_t slice = slice_bytes_max(local, values.size(), element);
  const std::size_t piece_bytes = slice * local.count();
  // Two rooms for results: who combines piece k knows that all have copied those of piece k - 2.
  const std::size_t room_bytes = (slice + 63) / 64 * 64;
  std::byte* rooms = co_await local.round().allocate_when_free(2 * room_bytes);
  local.round().expose_results(rooms);
  local.expose(values, 1);
  co_await local.wait_for_all(1);
  local.check_all_bytes(values.size());
  std::uint64_t step = 1;
  for (std::size_t begin = 0; begin < values.size(); begin += piece_bytes) {
    const std::size_t bytes = std::min(piece_bytes, values.size() - begin);
    const Piece piece{begin, Blocks::divide(local.count(), bytes / element, element)};
    const std::size_t room = step % 2 * room_bytes;
    const std::size_t offset = piece.offset(local.local_index());
    const std::size_t own_bytes = piece.slices.bytes(local.local_index());
    // Of the only one who takes the result nobody else reads its slice.
    const bool takes_alone = takers == Takers::one && !result.empty();
    std::byte* const own_result = takes_alone ? result.data() + offset : rooms + room;
    co_await combine_all(local, offset, values.subspan(offset, own_bytes), own_result, reduction);
    ++step;
    co_await local.meet(step);
    if (!result.empty()) co_await copy_slices(local, piece, room, own_result, result);
  }
  co_return step;
}

}  // namespace coracle::internals::within
