// all_to_all among a group: by Bruck's algorithm (see gather_all.cpp), or pair by pair.
#include <algorithm>
#include <vector>

#include "collectives/between/between.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/scratch.hpp"

namespace coracle::internals::between {
namespace {

// Pairs at work at a time: the next one's request is under way while this one's data comes.
constexpr std::uint32_t kPairs = 4;

/// In the step of distance d, each block whose way still has the bit d goes d positions on.
Task<> bruck(Group group, std::span<const std::byte> source, std::span<std::byte> target, std::size_t block) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  const Scratch ways(source.size());  // by the number of positions that a block still has to go, or has gone
  const Scratch sent((size / 2 + 1) * block);
  const Scratch received((size / 2 + 1) * block);
  for (std::uint32_t way = 0; way < size; ++way)
    std::copy_n(source.data() + (me + way) % size * block, block, ways.data() + way * block);
  std::uint32_t step = 0;
  for (std::uint32_t distance = 1; distance < size; distance *= 2, ++step) {
    std::size_t number = 0;
    for (std::uint32_t way = 0; way < size; ++way)
      if ((way & distance) != 0) std::copy_n(ways.data() + way * block, block, sent.data() + number++ * block);
    co_await exchange(group, step, (me + distance) % size, sent.subspan(0, number * block),
                      (me + size - distance) % size, received.subspan(0, number * block));
    number = 0;
    for (std::uint32_t way = 0; way < size; ++way)
      if ((way & distance) != 0) std::copy_n(received.data() + number++ * block, block, ways.data() + way * block);
  }
  for (std::uint32_t way = 0; way < size; ++way)
    std::copy_n(ways.data() + way * block, block, target.data() + (me + size - way) % size * block);
}

/// Every kPairs-th pair.
Task<> pairs(Group group, std::uint32_t first, std::span<const std::byte> source, const Blocks& source_blocks,
             std::span<std::byte> target, const Blocks& target_blocks, const TeamNodes* but_own) {
  const std::uint32_t size = group.size();
  const std::uint32_t me = group.position();
  for (std::uint32_t step = first; step < size; step += kPairs) {
    const std::uint32_t to = (me + step) % size;
    const std::uint32_t from = (me + size - step) % size;
    const bool sends = but_own == nullptr || but_own->node_of(to) != but_own->own();
    const bool receives = but_own == nullptr || but_own->node_of(from) != but_own->own();
    if (sends && receives)
      co_await exchange(group, 0, to, source_blocks.of(source, to), from, target_blocks.of(target, from));
    else if (sends)
      co_await group.send(to, 0, source_blocks.of(source, to));
    else if (receives)
      co_await group.receive(from, 0, target_blocks.of(target, from));
  }
}

}  // namespace

bool forwards_all_to_all(const Group& group, std::size_t block_bytes) {
  return group.algorithm(Collective::all_to_all, block_bytes) == Algorithm::bruck;
}

Task<> all_to_all(Group group, std::span<const std::byte> source, const Blocks& source_blocks,
                  std::span<std::byte> target, const Blocks& target_blocks, bool same_size, const TeamNodes* but_own) {
  const std::size_t block = source_blocks.bytes(0);
  if (same_size && forwards_all_to_all(group, block)) {
    co_await bruck(group, source, target, block);
    co_return;
  }
  const std::span<const std::byte> own = source_blocks.of(source, group.position());
  std::copy(own.begin(), own.end(), target_blocks.of(target, group.position()).begin());
  const std::uint32_t number = std::min(kPairs, group.size() - 1);
  co_await in_lanes(number, [&](std::uint32_t lane) {
    return pairs(group, lane + 1, source, source_blocks, target, target_blocks, but_own);
  });
}

}  // namespace coracle::internals::between
