// reduce_scatter: see between/reduce_scatter.cpp.
#include "collectives/reduce_scatter.hpp"

#include "collectives/between/between.hpp"

namespace coracle {

Task<> reduce_scatter_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> mine, Blocks blocks,
                            Reduction reduction) {
  check_blocks("reduce_scatter", blocks, team.size(), values.size());
  check_block("reduce_scatter", blocks, team.index(), mine.size());
  const Group group(team, team.next_sequence());
  co_await between::reduce_scatter(group, values, mine, blocks, reduction);
}

}  // namespace coracle
