// reduce_scatter among a group.
#include <algorithm>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::between {
namespace {

enum ScatterPhase : std::uint32_t { kScatterLanes = 0, kWhole = 8 };

/// Part of a block: the same part of every member's is combined.
struct Part {
  std::size_t begin;
  std::size_t end;
};

/// Pair by pair, nearest position before this one first, so that what comes lies before all that has come: first down
/// to position 0, then from the last position down to the one behind this. The two sums are joined at the end.
Task<> combine_blocks(Group group, std::span<const std::byte> values, std::span<std::byte> mine, const Blocks& blocks,
                      Part part, std::uint32_t lane, std::uint32_t lanes, const Reduction& reduction) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const std::size_t bytes = part.end - part.begin;
  const Scratch received(bytes);
  const Scratch behind(bytes);
  bool any_behind = false;
  std::byte* sum = mine.data() + part.begin;
  if (bytes > 0) std::copy_n(values.data() + blocks.offset(me) + part.begin, bytes, sum);
  for (std::uint32_t step = 1; step < size; ++step) {
    const std::uint32_t to = (me + step) % size;
    const std::uint32_t from = (me + size - step) % size;
    const std::size_t elements = blocks.bytes(to) / reduction.element_bytes;
    const std::size_t begin = elements * lane / lanes * reduction.element_bytes;
    const std::size_t end = elements * (lane + 1) / lanes * reduction.element_bytes;
    const bool first_behind = from > me && !any_behind;
    const std::span<std::byte> position = first_behind ? behind.span() : received.span();
    co_await exchange(group, 0, to, values.subspan(blocks.offset(to) + begin, end - begin), from, position);
    if (from < me) reduction.combine(received.data(), sum, sum, bytes);
    if (from > me && !first_behind) reduction.combine(received.data(), behind.data(), behind.data(), bytes);
    any_behind = from > me;
  }
  if (any_behind) reduction.combine(sum, behind.data(), sum, bytes);
}

}  // namespace

Task<> reduce_scatter(Group group, std::span<const std::byte> values, std::span<std::byte> mine, const Blocks& blocks,
                      const Reduction& reduction) {
  const Algorithm algorithm = group.algorithm(Collective::reduce_scatter, blocks.total() / group.size());
  if (algorithm != Algorithm::pairwise) {
    const Scratch all(values.size());
    std::copy(values.begin(), values.end(), all.data());
    co_await all_reduce(group.phase(kWhole).choosing(algorithm), all.span(), reduction);
    const std::span<std::byte> result = blocks.of(all.span(), group.position());
    std::copy(result.begin(), result.end(), mine.begin());
    co_return;
  }
  // The same number everywhere: all members know all blocks.
  const std::uint32_t lanes = lanes_for(blocks.total() / group.size());
  const std::size_t elements = mine.size() / reduction.element_bytes;
  co_await in_lanes(lanes, [&](std::uint32_t lane) {
    const Part part{elements * lane / lanes * reduction.element_bytes,
                    elements * (lane + 1) / lanes * reduction.element_bytes};
    return combine_blocks(group.phase(kScatterLanes + lane), values, mine, blocks, part, lane, lanes, reduction);
  });
}

}  // namespace coracle::internals::between
