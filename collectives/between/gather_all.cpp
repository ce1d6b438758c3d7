// gather_all among a group. Bruck's algorithm: J. Bruck et al., "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", IEEE TPDS 1997.
#include <algorithm>

#include "collectives/between/between.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::between {
namespace {

/// After the step of distance d this position has the blocks of the 2d positions from itself on.
Task<> bruck(Group group, std::span<std::byte> all, const Blocks& blocks) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const Scratch turned(all.size());
  const auto range = [&](std::uint32_t first, std::uint32_t number) {
    return turned.subspan(blocks.bytes_around(me, first), blocks.bytes_around((me + first) % size, number));
  };
  const std::span<std::byte> mine = blocks.of(all, me);
  std::copy(mine.begin(), mine.end(), turned.data());
  std::uint32_t step = 0;
  for (std::uint32_t distance = 1; distance < size; distance *= 2, ++step) {
    const std::uint32_t number = std::min(distance, size - distance);
    co_await exchange(group, step, (me + size - distance) % size, range(0, number), (me + distance) % size,
                      range(distance, number));
  }
  const std::size_t turn = blocks.bytes(me, size);
  std::copy_n(turned.data(), turn, all.data() + blocks.offset(me));
  std::copy(turned.data() + turn, turned.data() + all.size(), all.data());
}

Task<> ring(Group group, std::span<std::byte> all, const Blocks& blocks, std::uint32_t lane, std::uint32_t lanes) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const auto part = [&](std::uint32_t position) {
    const std::span<std::byte> block = blocks.of(all, position);
    const std::size_t begin = block.size() * lane / lanes;
    return block.subspan(begin, block.size() * (lane + 1) / lanes - begin);
  };
  for (std::uint32_t step = 0; step + 1 < size; ++step) {
    co_await exchange(group, step, (me + 1) % size, part((me + size - step) % size), (me + size - 1) % size,
                      part((me + size - step - 1) % size));
  }
}

}  // namespace

Task<> gather_all(Group group, std::span<std::byte> all, const Blocks& blocks) {
  if (group.size() == 1) co_return;
  if (group.algorithm(Collective::gather_all, blocks.total() / group.size()) == Algorithm::bruck) {
    co_await bruck(group, all, blocks);
    co_return;
  }
  const std::uint32_t lanes = lanes_for(blocks.total() / group.size());
  co_await in_lanes(lanes, [&](std::uint32_t lane) { return ring(group.phase(lane), all, blocks, lane, lanes); });
}

}  // namespace coracle::internals::between
