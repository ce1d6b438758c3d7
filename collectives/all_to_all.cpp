// all_to_all: see between/all_to_all.cpp.
#include "collectives/all_to_all.hpp"

#include "collectives/between/between.hpp"

namespace coracle {

Task<> all_to_all_bytes(Team& team, std::span<const std::byte> source, Blocks source_blocks,
                        std::span<std::byte> target, Blocks target_blocks, bool same_size) {
  check_blocks("all_to_all, source", source_blocks, team.size(), source.size());
  check_blocks("all_to_all, target", target_blocks, team.size(), target.size());
  check_block("all_to_all", source_blocks, team.index(), target_blocks.bytes(team.index()));
  const Group group(team, team.next_sequence());
  co_await between::all_to_all(group, source, source_blocks, target, target_blocks, same_size);
}

}  // namespace coracle
