// gather_all: see between/gather_all.cpp.
#include "collectives/gather_all.hpp"

#include <algorithm>

#include "collectives/between/between.hpp"

namespace coracle {

Task<> gather_all_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks) {
  check_blocks("gather_all", blocks, team.size(), all.size());
  check_block("gather_all", blocks, team.index(), mine.size());
  const Group group(team, team.next_sequence());
  const std::span<std::byte> own = blocks.of(all, team.index());
  if (own.data() != mine.data()) std::copy(mine.begin(), mine.end(), own.begin());
  co_await between::gather_all(group, all, blocks);
}

}  // namespace coracle
