// gather in two levels: on each node by the board, between nodes by one member of each, at the root's node the root.
#include "collectives/gather.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/data/host_memory.hpp"
#include "collectives/data/packed.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/gather_within.hpp"
#include "collectives/node/mates.hpp"

namespace coracle::internals {
namespace {

/// On one node, or only the part of one: `part` has the blocks of the mates, as `place_of` says.
template <class PlaceOf>
Task<> collect_all(Mates& mates, std::span<const std::byte> mine, PlaceOf place_of) {
  std::copy(mine.begin(), mine.end(), place_of(mates.place()).begin());
  co_await within::collect(mates, place_of);
  within::collected(mates);
}

Task<> gather_on_node(Mates& mates, const TeamNodes& nodes, std::span<const std::byte> mine, std::span<std::byte> all,
                      const Blocks& blocks, std::uint32_t root) {
  const std::uint32_t leader = nodes.place_of(root);
  if (mates.place() != leader) {
    co_await within::offer(mates, mine, leader);
    co_return;
  }
  const auto place_of = [all, &nodes, &blocks](std::uint32_t mate) { return blocks.of(all, nodes.member(0, mate)); };
  co_await collect_all(mates, mine, place_of);
}

/// What leaves a node goes in one piece.
Task<> gather_part(Mates& mates, std::span<const std::byte> mine, std::span<std::byte> part, std::uint32_t leader) {
  if (mates.place() != leader) {
    co_await within::offer(mates, mine, leader);
    co_return;
  }
  const std::size_t block = mine.size();
  co_await collect_all(mates, mine, [part, block](std::uint32_t mate) { return part.subspan(mate * block, block); });
}

Task<> gather_two_levels(Team& team, std::uint64_t sequence, std::span<const std::byte> mine, std::span<std::byte> all,
                         std::uint32_t root, Algorithm algorithm) {
  const TeamNodes& nodes = team.nodes();
  const Blocks blocks(team.size(), mine.size());
  const Packed packed(team, blocks);
  const std::uint32_t root_node = nodes.node_of(root);
  const std::uint32_t leader = nodes.own() == root_node ? nodes.place_of(root) : 0;
  const bool leads = nodes.place_of(team.index()) == leader;
  const Scratch part(leads ? packed.by_node().bytes(nodes.own()) : 0);
  if (nodes.size_of(nodes.own()) > 1) {
    Mates mates(team);
    Task<> on_node = gather_part(mates, mine, part.span(), leader);
    co_await mates.run(std::move(on_node));
  } else {
    std::copy(mine.begin(), mine.end(), part.data());
  }
  if (!leads) co_return;
  const Group group = Group::of_nodes(team, sequence, root).choosing(algorithm);
  const bool turns = team.index() == root && !packed.is_plain();
  const Scratch turned(turns ? all.size() : 0);
  co_await between::gather(group, part.span(), turns ? turned.span() : all, packed.by_node(),
                           between::Known::everywhere, root_node);
  if (turns) packed.unpack(turned.span(), all);
}

}  // namespace

Task<> gather_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, std::uint32_t root,
                    Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{Called::gather, mine.size(), root, where};
  if (on_device(team, mine, all)) co_return co_await refuse_device(team, call);
  team.core().check_whole("gather");
  const Participation participation(team, call);
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  const Blocks blocks(team.size(), mine.size());
  if (team.index() == root) check_blocks("gather", blocks, team.size(), all.size());
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  const bool by_board = mine.size() <= Mates::given_bytes_max(team) || Mates::can_lend(team);
  if (by_board && nodes.count() == 1 && team.size() > 1) {
    Mates mates(team);
    Task<> on_node = gather_on_node(mates, nodes, mine, all, blocks, root);
    co_await mates.run(std::move(on_node));
  } else if (by_board && nodes.largest() > 1) {
    co_await gather_two_levels(team, sequence, mine, all, root, algorithm);
  } else {
    const Group group = Group(team, sequence).choosing(algorithm);
    co_await between::gather(group, mine, all, blocks, between::Known::everywhere, root);
  }
}

Task<> gather_v_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                      std::uint32_t root, std::source_location where) {
  const CollectiveCall call{Called::gather_v, CollectiveCall::kAnyBytes, root, where};
  if (on_device(team, mine, all)) co_return co_await refuse_device(team, call);
  team.core().check_whole("gather_v");
  const Participation participation(team, call);
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  if (team.index() == root) {
    check_blocks("gather_v", blocks, team.size(), all.size());
    check_block("gather_v", blocks, root, mine.size());
  }
  const std::uint64_t sequence = participation.sequence();
  if (team.nodes().count() == 1 && team.size() > 1 && Mates::can_lend(team)) {
    Mates mates(team);
    Task<> on_node = gather_on_node(mates, team.nodes(), mine, all, blocks, root);
    co_await mates.run(std::move(on_node));
    co_return;
  }
  // Only the root knows how much comes from a node.
  co_await between::gather(Group(team, sequence), mine, all, blocks, between::Known::at_root, root);
}

}  // namespace coracle::internals
