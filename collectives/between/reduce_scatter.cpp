// reduce_scatter and scan among a group.
#include <algorithm>

#include "collectives/between/between.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::between {
namespace {

enum ScatterPhase : std::uint32_t { kScatterLanes = 0, kWhole = 8 };

/// A lane of a reduce_scatter: pair by pair, nearest position before this one first, so that what comes lies before all
/// that has come: first down to position 0, then from the last position down to the one behind this. The two sums are
/// joined at the end.
Task<> combine_blocks(Group group, std::span<const std::byte> values, std::span<std::byte> mine, const Blocks& blocks,
                      std::uint32_t lane, std::uint32_t lanes, const Reduction& reduction) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const auto part_of = [&](auto block) {
    return part_of_lane(block.size(), reduction.element_bytes, lane, lanes).of(block);
  };
  const std::span<std::byte> sum = part_of(mine);
  const std::size_t bytes = sum.size();
  const Scratch received(bytes);
  const Scratch behind(bytes);
  bool any_behind = false;
  copy_bytes(part_of(blocks.of(values, me)), sum);
  for (std::uint32_t step = 1; step < size; ++step) {
    const std::uint32_t to = (me + step) % size;
    const std::uint32_t from = (me + size - step) % size;
    const bool first_behind = from > me && !any_behind;
    const std::span<std::byte> position = first_behind ? behind.span() : received.span();
    co_await exchange(group, 0, to, part_of(blocks.of(values, to)), from, position);
    if (from < me) reduction.combine(received.data(), sum.data(), sum.data(), bytes);
    if (from > me && !first_behind) reduction.combine(received.data(), behind.data(), behind.data(), bytes);
    any_behind = from > me;
  }
  if (any_behind) reduction.combine(sum.data(), behind.data(), sum.data(), bytes);
}

/// A piece of a lane of a scan: recursive doubling over distances (Hillis and Steele, "Data parallel algorithms", CACM
/// 1986). Before the step of distance d, `range` is the combination of the d positions up to this one (fewer at the
/// beginning), and `before` that of the same without this position itself. `first_step`: of this piece.
struct ScanPiece {
  std::span<const std::byte> values;
  std::span<std::byte> before;
  std::span<std::byte> sum;  ///< Room for `range`.
  std::span<std::byte> received;
  std::uint32_t first_step;
};

Task<> scan_piece(Group group, ScanPiece piece, const Reduction& reduction) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const std::size_t bytes = piece.values.size();
  std::span<const std::byte> range = piece.values;
  std::uint32_t step = piece.first_step;
  for (std::uint32_t distance = 1; distance < size; distance *= 2, ++step) {
    const bool sends = me + distance < size;
    const bool receives = me >= distance;
    const std::span<std::byte> into = distance == 1 ? piece.before : piece.received;
    if (sends && receives)
      co_await exchange(group, step, me + distance, range, me - distance, into);
    else if (sends)
      co_await group.send(me + distance, step, range);
    else if (receives)
      co_await group.receive(me - distance, step, into);
    if (!receives) continue;
    if (me + 2 * distance < size) {
      reduction.combine(into.data(), range.data(), piece.sum.data(), bytes);
      range = piece.sum;
    }
    if (distance > 1) reduction.combine(into.data(), piece.before.data(), piece.before.data(), bytes);
  }
}

/// A lane of a scan, in pieces, so that what is needed beside the result stays in caches.
Task<> scan_lane(Group group, std::span<const std::byte> values, std::span<std::byte> before,
                 const Reduction& reduction) {
  constexpr std::size_t kPieceBytes = 256 * 1024;
  constexpr std::size_t kPiecesMax = 1024;
  constexpr std::uint32_t kStepsOfPiece = 32;  // as many as there are powers of two below the group's size
  static_assert(kPiecesMax * kStepsOfPiece < Group::kSteps);
  const std::size_t elements = values.size() / reduction.element_bytes;
  const std::size_t usual = std::max<std::size_t>(kPieceBytes / reduction.element_bytes, 1);
  const std::size_t at_once = std::max(usual, elements / kPiecesMax + 1) * reduction.element_bytes;
  const Scratch sum(std::min(at_once, values.size()));
  const Scratch received(std::min(at_once, values.size()));
  std::uint32_t step = 0;
  // Of no bytes, too, there is one piece: what comes before has been heard of then.
  for (std::size_t begin = 0; begin == 0 || begin < values.size(); begin += at_once, step += kStepsOfPiece) {
    const std::size_t bytes = std::min(at_once, values.size() - begin);
    co_await scan_piece(group,
                        {values.subspan(begin, bytes), before.subspan(begin, bytes), sum.subspan(0, bytes),
                         received.subspan(0, bytes), step},
                        reduction);
  }
}

}  // namespace

Task<> reduce_scatter(Group group, std::span<const std::byte> values, std::span<std::byte> mine, const Blocks& blocks,
                      const Reduction& reduction) {
  const Algorithm algorithm = group.algorithm(Collective::reduce_scatter, blocks.total() / group.size());
  if (algorithm != Algorithm::pairwise) {
    const Scratch all(values.size());
    copy_bytes(values, all.span());
    co_await all_reduce(group.phase(kWhole).choosing(algorithm), all.span(), reduction);
    copy_bytes(blocks.of(all.span(), group.position()), mine);
    co_return;
  }
  // The same number everywhere: all members know all blocks.
  const std::uint32_t lanes = lanes_for(blocks.total() / group.size());
  co_await in_lanes(lanes, [&](std::uint32_t lane) {
    return combine_blocks(group.phase(kScatterLanes + lane), values, mine, blocks, lane, lanes, reduction);
  });
}

Task<> exclusive_scan(Group group, std::span<const std::byte> values, std::span<std::byte> before,
                      const Reduction& reduction) {
  const std::uint32_t lanes = lanes_for(values.size());
  co_await in_lanes(lanes, [&](std::uint32_t lane) {
    const Part part = part_of_lane(values.size(), reduction.element_bytes, lane, lanes);
    return scan_lane(group.phase(lane), part.of(values), part.of(before), reduction);
  });
}

}  // namespace coracle::internals::between
