// Reductions of large data among members who can't expose it (`process`): each copies its values, piece by piece, to
// its arena, and the next piece before all meet, so that a piece costs one meeting. There are two rooms of each kind:
// who copies piece k + 1 of its values knows that all have combined piece k - 1, since all have met since.
#include <algorithm>
#include <cstring>

#include "collectives/data/blocks.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/slices.hpp"

namespace coracle::internals::within {
namespace {

// So that what all have copied is in the caches when it is combined.
constexpr std::size_t kStagedBytesMax = 256 * 1024;

/// Each room begins at a cache line.
constexpr std::size_t whole_cache_lines(std::size_t bytes) noexcept {
  return (bytes + 63) / 64 * 64;
}

/// Bytes of a slice of which two results, and two pieces of values, fit into the arena.
std::size_t staged_slice_bytes_max(const NodeArea& node_area, std::uint32_t members) noexcept {
  const std::size_t fits = node_area.room_bytes_max() / (2 * std::size_t{members} + 2);
  const std::size_t rounded = fits > 64 ? fits - 64 : 0;
  return std::min(rounded, kStagedBytesMax / members);
}

/// Where a member of reduce_staged() has what others read.
struct StagedRooms {
  StagedRooms(std::byte* rooms, std::size_t slice, std::size_t members)
      : results(rooms), result_bytes(whole_cache_lines(slice)), value_bytes(whole_cache_lines(slice * members)) {}

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
  return !reaches(team) && team.nodes().count() == 1 &&
         reduction.element_bytes <= staged_slice_bytes_max(team.node_area(), team.size());
}

Task<> reduce_staged(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                     Takers takers, const Reduction& reduction) {
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
  const auto stage = [&](std::uint64_t piece) {
    const std::span<const std::byte> part = piece_of(piece);
    if (!part.empty()) std::memcpy(rooms.values() + rooms.value(piece), part.data(), part.size());
  };
  stage(0);
  local.round().expose_results(rooms.results);
  local.round().expose(rooms.values(), values.size(), 1);
  co_await local.wait_for_all(1);
  local.check_all_bytes(values.size());
  const bool takes_alone = takers == Takers::one && !result.empty();
  for (std::uint64_t piece = 0; piece * piece_bytes < values.size(); ++piece) {
    const std::span<const std::byte> part = piece_of(piece);
    const Piece divided{0, Blocks::divide(local.count(), part.size() / element, element)};
    const std::size_t offset = divided.offset(local.local_index());
    const std::span<const std::byte> own = divided.slices.of(part, local.local_index());
    // Of the only one who takes the result nobody else reads its slice. Who combines piece k knows that all have copied
    // the results of piece k - 2.
    std::byte* const own_result =
        takes_alone ? result.data() + piece * piece_bytes + offset : rooms.results + rooms.result(piece);
    co_await combine_all(local, rooms.value(piece) + offset, own, own_result, reduction);
    stage(piece + 1);
    co_await local.meet(piece + 2);
    if (!result.empty())
      co_await copy_slices(local, divided, rooms.result(piece), own_result,
                           result.subspan(piece * piece_bytes, part.size()));
  }
}

namespace {

/// The pieces of a reduce_scatter: of each block a slice, as long as the others unless the block ends before.
class StagedBlocks {
 public:
  /// Slices as long as can be: two pieces have `bytes_max`, or have an element of each block.
  StagedBlocks(const Blocks& blocks, std::size_t element, std::size_t bytes_max) : blocks_(blocks) {
    for (std::uint32_t member = 0; member < blocks.count(); ++member)
      largest_ = std::max(largest_, blocks.bytes(member));
    slice_ = std::max(largest_, element);
    while (bytes() > bytes_max / 2 && slice_ > element) slice_ = (slice_ / element + 1) / 2 * element;
  }

  std::uint64_t count() const noexcept { return (largest_ + slice_ - 1) / slice_; }
  /// Of the first piece; others have no more.
  std::size_t bytes() const noexcept { return offset(blocks_.count()); }
  /// Of a member's slice in a piece: the same in each.
  std::size_t offset(std::uint32_t member) const noexcept {
    std::size_t before = 0;
    for (std::uint32_t other = 0; other < member; ++other) before += std::min(slice_, blocks_.bytes(other));
    return before;
  }
  /// Of what is a member's block.
  template <class Byte>
  std::span<Byte> slice_of(std::span<Byte> block, std::uint64_t piece) const noexcept {
    const std::size_t begin = std::min<std::size_t>(piece * slice_, block.size());
    return block.subspan(begin, std::min(slice_, block.size() - begin));
  }
  /// Copies all slices of a piece but that of `own`, which nobody else reads.
  void stage(std::span<const std::byte> values, std::uint64_t piece, std::uint32_t own, std::byte* room) const {
    for (std::uint32_t member = 0; member < blocks_.count(); ++member) {
      const std::span<const std::byte> slice = slice_of(blocks_.of(values, member), piece);
      if (member != own && !slice.empty()) std::memcpy(room, slice.data(), slice.size());
      room += std::min(slice_, blocks_.bytes(member));
    }
  }

 private:
  const Blocks& blocks_;
  std::size_t largest_ = 0;
  std::size_t slice_;
};

std::size_t scattered_bytes_max(const NodeArea& node_area) noexcept {
  const std::size_t fits = node_area.room_bytes_max();
  return std::min(fits > 128 ? fits - 128 : 0, 2 * kStagedBytesMax);  // each room begins at a cache line
}

}  // namespace

bool suits_reduce_scatter_staged(Team& team, const Blocks& blocks, const Reduction& reduction) noexcept {
  if (reaches(team) || team.nodes().count() > 1) return false;
  constexpr std::uint64_t kPiecesMax = std::uint64_t{1} << (NodeAreaPart::kStepBits - 2);
  const std::size_t bytes_max = scattered_bytes_max(team.node_area());
  const StagedBlocks pieces(blocks, reduction.element_bytes, bytes_max);
  return pieces.bytes() <= bytes_max / 2 && pieces.count() <= kPiecesMax;
}

Task<> reduce_scatter_staged(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> mine,
                             const Blocks& blocks, const Reduction& reduction) {
  const std::uint32_t own = local.local_index();
  const StagedBlocks pieces(blocks, reduction.element_bytes, scattered_bytes_max(local.round().node_area()));
  const std::size_t offset = pieces.offset(own);
  const std::size_t room_bytes = whole_cache_lines(pieces.bytes());
  const std::size_t rooms = pieces.count() > 1 ? 2 : 1;
  std::byte* const room = co_await local.round().allocate_when_free(rooms * room_bytes);
  pieces.stage(values, 0, own, room);
  local.round().expose(room, values.size(), 1);
  co_await local.wait_for_all(1);
  local.check_all_bytes(values.size());
  for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
    const std::span<const std::byte> part = pieces.slice_of(blocks.of(values, own), piece);
    std::byte* const result = pieces.slice_of(mine, piece).data();
    co_await combine_all(local, piece % 2 * room_bytes + offset, part, result, reduction);
    if (piece + 1 == pieces.count()) break;  // the rooms stay until all are through with the round
    pieces.stage(values, piece + 1, own, room + (piece + 1) % 2 * room_bytes);
    co_await local.meet(piece + 2);
  }
}

}  // namespace coracle::internals::within
