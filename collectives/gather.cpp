// gather: see between/gather.cpp.
#include "collectives/gather.hpp"

#include "collectives/between/between.hpp"

namespace coracle {

Task<> gather_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, std::uint32_t root) {
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  const Blocks blocks(team.size(), mine.size());
  if (team.index() == root) check_blocks("gather", blocks, team.size(), all.size());
  const Group group(team, team.next_sequence());
  co_await between::gather(group, mine, all, blocks, between::Known::everywhere, root);
}

Task<> gather_v_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                      std::uint32_t root) {
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  if (team.index() == root) {
    check_blocks("gather_v", blocks, team.size(), all.size());
    check_block("gather_v", blocks, root, mine.size());
  }
  const Group group(team, team.next_sequence());
  co_await between::gather(group, mine, all, blocks, between::Known::at_root, root);
}

}  // namespace coracle
