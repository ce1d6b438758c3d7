// scatter in two levels: between nodes by one member of each, at the root's node the root; on each node by the node
// area. What is long goes from the root straight to each member, so that nobody waits for a late leader.
#include "collectives/scatter.hpp"

#include <algorithm>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/data/host_memory.hpp"
#include "collectives/data/packed.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/messages/mailbox.hpp"
#include "collectives/node/gather_within.hpp"
#include "collectives/node/local_collective.hpp"

namespace coracle::internals {
namespace {

/// `part`: at the leader, a block for each local member.
Task<> scatter_on_node(LocalCollective& local, std::span<const std::byte> part, std::span<std::byte> mine,
                       std::uint32_t leader) {
  const std::size_t offset = local.local_index() * mine.size();
  if (local.local_index() != leader) {
    co_await within::fetch(local, leader, local.count() * mine.size(), offset, mine);
    within::fetched(local);
    co_return;
  }
  std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(offset), mine.size(), mine.begin());
  co_await within::hand_out(local, part);
}

/// The leader's part of its node from the root, and on to the other local members.
Task<> lead(LocalCollective* local, Team& team, Group group, std::span<const std::byte> all, std::span<std::byte> mine,
            std::uint32_t root) {
  const TeamNodes& nodes = team.nodes();
  const Blocks blocks(team.size(), mine.size());
  const Packed packed(team, blocks);
  const bool turns = team.index() == root && !packed.is_plain();
  const Scratch turned(turns ? all.size() : 0);
  if (turns) packed.pack(all, turned.span());
  const std::span<std::byte> part = local == nullptr ? mine : local->keep(packed.by_node().bytes(nodes.own()));
  const std::span<const std::byte> source = turns ? turned.span() : all;
  co_await between::scatter(group, source, part, packed.by_node(), between::Known::everywhere, nodes.node_of(root));
  if (local != nullptr) co_await scatter_on_node(*local, part, mine, local->local_index());
}

Task<> scatter_two_levels(Team& team, Group group, std::span<const std::byte> all, std::span<std::byte> mine,
                          std::uint32_t root) {
  const TeamNodes& nodes = team.nodes();
  if (nodes.size_of(nodes.own()) == 1) {
    co_await lead(nullptr, team, group, all, mine, root);
    co_return;
  }
  const std::uint32_t leader = nodes.own() == nodes.node_of(root) ? nodes.local_index_of(root) : 0;
  LocalCollective local(team);
  Task<> on_node = local.local_index() == leader ? lead(&local, team, group, all, mine, root)
                                                 : scatter_on_node(local, {}, mine, leader);
  co_await local.run(std::move(on_node));
}

/// Whether each member gets its block from the root itself. With blocks that are offered and fetched, a message for
/// each member takes hardly longer than one for each node, there is one copy less, and nobody who could be late leads.
bool goes_straight(const Group& nodes, const Blocks& blocks) {
  constexpr std::size_t kTwoLevelBytesMax = 16 * 1024;
  static_assert(kTwoLevelBytesMax >= Mailbox::kWholeBytesMax);
  return blocks.bytes(0) > kTwoLevelBytesMax &&
         nodes.algorithm(Collective::scatter, blocks.total() / nodes.size()) == Algorithm::linear;
}

}  // namespace

Task<> scatter_bytes(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, std::uint32_t root,
                     Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{Called::scatter, mine.size(), root, where};
  if (on_device(team, mine, all)) co_return co_await refuse_device(team, call);
  team.core().check_whole("scatter");
  const Participation participation(team, call);
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  const Blocks blocks(team.size(), mine.size());
  if (team.index() == root) check_blocks("scatter", blocks, team.size(), all.size());
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  const bool by_node_area =
      blocks.total() <= LocalCollective::given_bytes_max(team) || LocalCollective::can_expose(team);
  if (by_node_area && nodes.count() == 1 && team.size() > 1) {
    LocalCollective local(team);
    Task<> on_node = scatter_on_node(local, all, mine, nodes.local_index_of(root));
    co_await local.run(std::move(on_node));
    co_return;
  }
  const Group by_nodes = Group::of_nodes(team, sequence, root).choosing(algorithm);
  if (by_node_area && nodes.largest() > 1 && !goes_straight(by_nodes, blocks)) {
    co_await scatter_two_levels(team, by_nodes, all, mine, root);
    co_return;
  }
  const Algorithm way = by_node_area && nodes.largest() > 1 ? Algorithm::linear : algorithm;
  const Group group = Group(team, sequence).choosing(way);
  co_await between::scatter(group, all, mine, blocks, between::Known::everywhere, root);
}

Task<> scatter_v_bytes(Team& team, std::span<const std::byte> all, Blocks blocks, std::span<std::byte> mine,
                       std::uint32_t root, std::source_location where) {
  const CollectiveCall call{Called::scatter_v, CollectiveCall::kAnyBytes, root, where};
  if (on_device(team, mine, all)) co_return co_await refuse_device(team, call);
  team.core().check_whole("scatter_v");
  const Participation participation(team, call);
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
  if (team.index() == root) {
    check_blocks("scatter_v", blocks, team.size(), all.size());
    check_block("scatter_v", blocks, root, mine.size());
  }
  // Only the root knows where each member's block lies, so that it sends each its own.
  const Group group(team, participation.sequence());
  co_await between::scatter(group, all, mine, blocks, between::Known::at_root, root);
}

}  // namespace coracle::internals
