// gather in two levels: on each node by the node area, between nodes by one member of each, at the root's node the
// root.
#include "collectives/gather.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/data/host_memory.hpp"
#include "collectives/data/packed.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/gather_within.hpp"
#include "collectives/node/local_collective.hpp"

namespace coracle::internals {
namespace {

/// On one node, or only the part of one: `part` has the blocks of the local members, as `block_of` says.
template <class BlockOf>
Task<> collect_all(LocalCollective& local, std::span<const std::byte> mine, BlockOf block_of) {
  std::copy(mine.begin(), mine.end(), block_of(local.local_index()).begin());
  co_await within::collect(local, block_of);
  within::collected(local);
}

Task<> gather_on_node(LocalCollective& local, const TeamNodes& nodes, std::span<const std::byte> mine,
                      std::span<std::byte> all, const Blocks& blocks, std::uint32_t root) {
  const std::uint32_t leader = nodes.local_index_of(root);
  if (local.local_index() != leader) {
    co_await within::offer(local, mine, leader);
    co_return;
  }
  const auto block_of = [all, &nodes, &blocks](std::uint32_t other) { return blocks.of(all, nodes.member(0, other)); };
  co_await collect_all(local, mine, block_of);
}

/// What leaves a node goes in one piece.
Task<> gather_part(LocalCollective& local, std::span<const std::byte> mine, std::span<std::byte> part,
                   std::uint32_t leader) {
  if (local.local_index() != leader) {
    co_await within::offer(local, mine, leader);
    co_return;
  }
  const std::size_t block = mine.size();
  co_await collect_all(local, mine, [part, block](std::uint32_t other) { return part.subspan(other * block, block); });
}

Task<> gather_two_levels(Team& team, std::uint64_t sequence, std::span<const std::byte> mine, std::span<std::byte> all,
                         std::uint32_t root, Algorithm algorithm) {
  const TeamNodes& nodes = team.nodes();
  const Blocks blocks(team.size(), mine.size());
  const Packed packed(team, blocks);
  const std::uint32_t root_node = nodes.node_of(root);
  const std::uint32_t leader = nodes.own() == root_node ? nodes.local_index_of(root) : 0;
  const bool leads = nodes.local_index_of(team.index()) == leader;
  const Scratch part(leads ? packed.by_node().bytes(nodes.own()) : 0);
  if (nodes.size_of(nodes.own()) > 1) {
    LocalCollective local(team);
    Task<> on_node = gather_part(local, mine, part.span(), leader);
    co_await local.run(std::move(on_node));
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
  const bool by_node_area = mine.size() <= LocalCollective::given_bytes_max(team) || LocalCollective::can_expose(team);
  if (by_node_area && nodes.count() == 1 && team.size() > 1) {
    LocalCollective local(team);
    Task<> on_node = gather_on_node(local, nodes, mine, all, blocks, root);
    co_await local.run(std::move(on_node));
  } else if (by_node_area && nodes.largest() > 1) {
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
  if (team.nodes().count() == 1 && team.size() > 1 && LocalCollective::can_expose(team)) {
    LocalCollective local(team);
    Task<> on_node = gather_on_node(local, team.nodes(), mine, all, blocks, root);
    co_await local.run(std::move(on_node));
    co_return;
  }
  // Only the root knows how much comes from a node.
  co_await between::gather(Group(team, sequence), mine, all, blocks, between::Known::at_root, root);
}

}  // namespace coracle::internals
