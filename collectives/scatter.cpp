// scatter: see between/gather.cpp.
#include "collectives/scatter.hpp"

#include "collectives/between/between.hpp"

namespace coracle {

Task<> scatter_bytes(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, std::uint32_t root) {
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  const Blocks blocks(team.size(), mine.size());
  if (team.index() == root) check_blocks("scatter", blocks, team.size(), all.size());
  const Group group(team, team.next_sequence());
  co_await between::scatter(group, all, mine, blocks, between::Known::everywhere, root);
}

Task<> scatter_v_bytes(Team& team, std::span<const std::byte> all, Blocks blocks, std::span<std::byte> mine,
                       std::uint32_t root) {
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  if (team.index() == root) {
    check_blocks("scatter_v", blocks, team.size(), all.size());
    check_block("scatter_v", blocks, root, mine.size());
  }
  const Group group(team, team.next_sequence());
  co_await between::scatter(group, all, mine, blocks, between::Known::at_root, root);
}

}  // namespace coracle
