// A phase in which each waits for all costs one turn of all ranks when they share cores, so that there are as few as
// can be: none for small data, whose givers go on at once; one for each piece of large data, and one more.
#include "collectives/node/local_collective.hpp"

#include <algorithm>
#include <cstring>

#include "collectives/data/blocks.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::within {
namespace {

// Of a slice, so that two of them stay in the second-level cache until the local members have copied them.
constexpr std::size_t kSliceBytesMax = 128 * 1024;

/// A piece of large data, divided into a slice for each local member.
struct Piece {
  std::size_t begin;
  Blocks slices;

  std::size_t offset(std::uint32_t local_index) const { return begin + slices.offset(local_index); }
};

/// Two rooms of this fit.
std::size_t room_bytes_max(const NodeArea& node_area) noexcept {
  return std::min<std::size_t>(kSliceBytesMax, node_area.room_bytes_max() / 2);
}

std::size_t slice_bytes_max(LocalCollective& local, std::size_t bytes, std::size_t element_bytes) {
  const std::size_t limit = room_bytes_max(local.round().node_area());
  const std::size_t all = (bytes / element_bytes + local.count() - 1) / local.count() * element_bytes;
  return std::max(std::min(limit / element_bytes * element_bytes, all), element_bytes);
}

/// `room`: where each local member has the result of its slice, from the local index of its results on.
Task<> copy_slices(LocalCollective& local, const Piece& piece, std::size_t room, const std::byte* own,
                   std::span<std::byte> result) {
  for (std::uint32_t distance = 0; distance < local.count(); ++distance) {
    const std::uint32_t other = (local.local_index() + distance) % local.count();
    const std::span<std::byte> target = result.subspan(piece.offset(other), piece.slices.bytes(other));
    if (target.empty()) continue;
    if (other == local.local_index())
      std::memcpy(target.data(), own, target.size());
    else
      co_await local.take_result(other, room, target);
  }
}

}  // namespace

Task<> combine(LocalCollective& local, std::uint32_t other, std::size_t offset, std::span<const std::byte> own,
               std::byte* result, const Reduction& reduction) {
  const bool before = other < local.local_index();
  const auto combine_with = [&](const std::byte* theirs) {
    reduction.combine(before ? theirs : own.data(), before ? own.data() : theirs, result, own.size());
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
  return can_expose(team) && reduction.element_bytes <= room_bytes_max(team.node_area());
}

Task<std::uint64_t> reduce_large(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                                 const Reduction& reduction) {
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
    co_await combine_all(local, offset, values.subspan(offset, own_bytes), rooms + room, reduction);
    ++step;
    co_await local.meet(step);
    if (!result.empty()) co_await copy_slices(local, piece, room, rooms + room, result);
  }
  co_return step;
}

namespace {

/// Bytes of a slice of which two results, and two pieces of values, fit into the arena.
std::size_t staged_slice_bytes_max(const NodeArea& node_area, std::uint32_t members) noexcept {
  constexpr std::size_t kPieceBytesMax =
      256 * 1024;  // so that what all have copied is in the caches when it is combined
  const std::size_t fits = node_area.room_bytes_max() / (2 * std::size_t{members} + 2);
  const std::size_t rounded = fits > 64 ? fits - 64 : 0;  // each room begins at a cache line
  return std::min(rounded, kPieceBytesMax / members);
}

/// Where a member of reduce_staged() has what others read.
struct StagedRooms {
  StagedRooms(std::byte* rooms, std::size_t slice, std::size_t members)
      : results(rooms), result_bytes(whole_lines(slice)), value_bytes(whole_lines(slice * members)) {}

  static constexpr std::size_t whole_lines(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }
  std::size_t result(std::uint64_t piece) const noexcept { return piece % 2 * result_bytes; }
  std::size_t value(std::uint64_t piece) const noexcept { return piece % 2 * value_bytes; }
  std::byte* values() const noexcept { return results + 2 * result_bytes; }
  std::size_t bytes() const noexcept { return 2 * (result_bytes + value_bytes); }

  std::byte* results;
  std::size_t result_bytes;
  std::size_t value_bytes;
};

}  // namespace

bool suits_reduce_staged(Team& team, const Reduction& reduction) noexcept {
  return !can_expose(team) && team.nodes().count() == 1 &&
         reduction.element_bytes <= staged_slice_bytes_max(team.node_area(), team.size());
}

Task<> reduce_staged(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                     const Reduction& reduction) {
  const std::size_t element = reduction.element_bytes;
  const std::size_t fits = staged_slice_bytes_max(local.round().node_area(), local.count());
  const std::size_t all = (values.size() / element + local.count() - 1) / local.count() * element;
  const std::size_t slice = std::max(std::min(fits / element * element, all), element);
  const std::size_t piece_bytes = slice * local.count();
  StagedRooms rooms(nullptr, slice, local.count());
  rooms.results = co_await local.round().allocate_when_free(rooms.bytes());
  const auto piece_of = [&](std::uint64_t piece) {
    const std::size_t begin = std::min<std::size_t>(piece * piece_bytes, values.size());
    return values.subspan(begin, std::min(piece_bytes, values.size() - begin));
  };
  // Two rooms each. Who copies piece k + 1 of its values knows that all have combined piece k - 1, and who combines
  // piece k, that all have copied the results of piece k - 2: all have met since.
  const auto stage = [&](std::uint64_t piece) {
    const std::span<const std::byte> part = piece_of(piece);
    if (!part.empty()) std::memcpy(rooms.values() + rooms.value(piece), part.data(), part.size());
  };
  stage(0);
  local.round().expose_results(rooms.results);
  local.round().expose(rooms.values(), values.size(), 1);
  co_await local.wait_for_all(1);
  local.check_all_bytes(values.size());
  for (std::uint64_t piece = 0; piece * piece_bytes < values.size(); ++piece) {
    const std::span<const std::byte> part = piece_of(piece);
    const Piece divided{0, Blocks::divide(local.count(), part.size() / element, element)};
    const std::span<const std::byte> own = divided.slices.of(part, local.local_index());
    std::byte* const own_result = rooms.results + rooms.result(piece);
    co_await combine_all(local, rooms.value(piece) + divided.offset(local.local_index()), own, own_result, reduction);
    stage(piece + 1);
    co_await local.meet(piece + 2);
    if (!result.empty())
      co_await copy_slices(local, divided, rooms.result(piece), own_result,
                           result.subspan(piece * piece_bytes, part.size()));
  }
}

}  // namespace coracle::internals::within
