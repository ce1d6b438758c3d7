// gather and scatter in two levels: on each node by the node area, between nodes by one member of each, at the root's
// node the root. What is long a scatter takes from the root straight to each member, so that nobody waits for a late
// leader.
#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/blocking.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/packed.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/messages/mailbox.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/others_blocks.hpp"
#include "runtime/core/assert.hpp"

namespace coracle::internals {
namespace {

/// Of this node, which sends to the root's and receives from it: the root, or the first member.
std::uint32_t leader_for(const TeamNodes& nodes, std::uint32_t root) {
  return nodes.own() == nodes.node_of(root) ? nodes.local_index_of(root) : 0;
}

void check_at_root(const CollectiveCall& call, const Team& team, const Blocks& blocks, std::size_t all_bytes,
                   std::size_t mine_bytes) {
  if (team.index() != call.root) return;
  check_blocks(name_of(call.called), blocks, team.size(), all_bytes);
  check_block(name_of(call.called), blocks, call.root, mine_bytes);
}

/// The largest block that its owner leaves in its arena, and goes on. Between processes each copies its own, at the
/// same time, where the leader alone would have the kernel copy all of them.
std::size_t left_bytes_max(Team& team) noexcept {
  constexpr std::size_t kLeftBytesMax = 512 * 1024;
  if (within::reaches(team) || !team.rank().loop().spins()) return within::given_bytes_max(team);
  return std::min<std::size_t>(kLeftBytesMax, team.node_area().room_bytes_max());
}

/// On a node; a local member's block goes into `part_of(other)` of the leader.
template <class PartOf>
Task<> gather_on_node(Team& team, LocalCollective& local, std::span<const std::byte> mine, std::uint32_t leader,
                      PartOf part_of) {
  if (local.local_index() != leader) {
    const bool small = mine.size() <= left_bytes_max(team);
    if (!small && local.try_hand(mine)) co_return;
    if (!local.try_provide(mine, small)) co_await local.give(mine);
    if (!small) co_await within::leave_for(team, local, {leader}, mine);
    co_return;
  }
  // Those who have come wait, the own block does not.
  const bool others_first = local.round().has_reached((leader + 1) % local.count(), 1);
  if (!others_first) copy_bytes(mine, part_of(leader));
  co_await within::take_all(local, part_of);
  local.round().publish(1);
  if (others_first) copy_bytes(mine, part_of(leader));
}

constexpr std::uint32_t kSent = 1;  // the mark of a block that goes by a message

Task<> take_or_receive(LocalCollective& local, const Group& group, std::uint32_t other, std::span<std::byte> target) {
  co_await local.wait(other, 1);
  local.check_bytes(other, target.size());
  if (local.round().is_exposed(other) && local.round().exposed(other).mark == kSent)
    co_await group.receive(other, 0, target);
  else
    co_await local.take(other, 0, target);
}

/// On a team's only node where members can't expose their memory: what is long goes by messages. Of blocks that differ
/// only its owner and the root know that, so the owner says it, with the size.
Task<> gather_or_send(LocalCollective& local, Group group, std::span<const std::byte> mine, std::span<std::byte> all,
                      const Blocks& blocks, std::uint32_t root) {
  if (group.position() == root) {
    copy_bytes(mine, blocks.of(all, root));
    co_await between::in_lanes(local.count() - 1, [&](std::uint32_t lane) {
      const std::uint32_t other = (root + 1 + lane) % local.count();
      return take_or_receive(local, group, other, blocks.of(all, other));
    });
  } else if (mine.size() <= local.given_bytes_max()) {
    if (!local.try_give(mine)) co_await local.give(mine);
  } else {
    local.round().expose(mine.data(), mine.size(), 1, kSent);
    co_await group.send(root, 0, mine);
  }
}

/// What leaves a node goes in one piece.
Task<> gather_two_levels(Team& team, std::uint64_t sequence, std::span<const std::byte> mine, std::span<std::byte> all,
                         std::uint32_t root, Algorithm algorithm) {
  const TeamNodes& nodes = team.nodes();
  const Blocks blocks(team.size(), mine.size());
  const Packed packed(team, blocks);
  const std::uint32_t leader = leader_for(nodes, root);
  const bool leads = nodes.local_index_of(team.index()) == leader;
  const Scratch part(leads ? packed.by_node().bytes(nodes.own()) : 0);
  if (nodes.size_of(nodes.own()) > 1) {
    LocalCollective local(team);
    const auto part_of = [&](std::uint32_t other) { return part.subspan(other * mine.size(), mine.size()); };
    Task<> on_node = gather_on_node(team, local, mine, leader, part_of);
    co_await local.run(std::move(on_node));
  } else {
    std::copy(mine.begin(), mine.end(), part.data());
  }
  if (!leads) co_return;
  const Group group = Group::of_nodes(team, sequence, root).choosing(algorithm);
  const bool turns = team.index() == root && !packed.is_plain();
  const Scratch turned(turns ? all.size() : 0);
  co_await group.in_phase("between nodes",
                          between::gather(group, part.span(), turns ? turned.span() : all, packed.by_node(),
                                          between::Known::everywhere, nodes.node_of(root)));
  if (turns) packed.unpack(turned.span(), all);
}

Task<> give_small(LocalCollective& local, const OthersBlocks& others) {
  if (!local.round().copies_at_once() && others.bytes() > Contribution::kInlineBytesMax)
    co_await others.give_in_time(local);
  else if (!others.try_give(local))
    co_await others.give(local);
}

/// On a node. `part`: at the leader, a block for each local member.
Task<> scatter_on_node(Team& team, LocalCollective& local, std::span<const std::byte> part, std::span<std::byte> mine,
                       std::uint32_t leader) {
  const std::size_t bytes = mine.size();
  const std::uint32_t index = local.local_index();
  const std::size_t whole = local.count() * bytes;
  // Then the leader gives what is for others, as in scatter_short(): members may go either way.
  const bool small = whole <= local.given_bytes_max();
  if (index != leader) {
    co_await local.wait(leader, 1);
    const bool others_alone = small || (local.round().is_exposed(leader) && local.round().is_handed(leader));
    const std::size_t there = others_alone ? whole - bytes : whole;
    const std::size_t place = others_alone ? OthersBlocks::place_of(index, leader) : index;
    co_return co_await within::fetch(local, leader, there, place * bytes, mine, 1, small);
  }
  const OthersBlocks others{part, bytes, index};
  const bool exposes = !small && !others.try_hand(local);
  if (exposes)
    local.expose(part, 1);
  else if (small)
    co_await give_small(local, others);
  // Meanwhile others take theirs.
  const std::span<const std::byte> own = part.subspan(index * bytes, bytes);
  if (own.data() != mine.data()) std::copy(own.begin(), own.end(), mine.begin());
  if (exposes) co_await within::leave_for(team, local, {}, part);
}

/// The leader's part of its node from the root, and on to the other local members.
Task<> lead_scatter(LocalCollective* local, Team& team, Group group, std::span<const std::byte> all,
                    std::span<std::byte> mine, std::uint32_t root) {
  const TeamNodes& nodes = team.nodes();
  const Blocks blocks(team.size(), mine.size());
  const Packed packed(team, blocks);
  const bool turns = team.index() == root && !packed.is_plain();
  const Scratch turned(turns ? all.size() : 0);
  if (turns) packed.pack(all, turned.span());
  const std::span<std::byte> part = local == nullptr ? mine : local->keep(packed.by_node().bytes(nodes.own()));
  const std::span<const std::byte> source = turns ? turned.span() : all;
  co_await group.in_phase("between nodes", between::scatter(group, source, part, packed.by_node(),
                                                            between::Known::everywhere, nodes.node_of(root)));
  if (local != nullptr) co_await scatter_on_node(team, *local, part, mine, local->local_index());
}

Task<> scatter_two_levels(Team& team, Group group, std::span<const std::byte> all, std::span<std::byte> mine,
                          std::uint32_t root) {
  const TeamNodes& nodes = team.nodes();
  if (nodes.size_of(nodes.own()) == 1) co_return co_await lead_scatter(nullptr, team, group, all, mine, root);
  const std::uint32_t leader = leader_for(nodes, root);
  LocalCollective local(team);
  Task<> on_node = local.local_index() == leader ? lead_scatter(&local, team, group, all, mine, root)
                                                 : scatter_on_node(team, local, {}, mine, leader);
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

Task<> scatter_by_levels(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, Blocks blocks,
                         bool same_size, Algorithm algorithm, CollectiveCall call) {
  const HostParticipation participation(team, call, mine, all);
  check_at_root(call, team, blocks, all.size(), mine.size());
  const std::uint32_t root = call.root;
  const TeamNodes& nodes = team.nodes();
  Group group = Group(team, participation.sequence()).choosing(algorithm);
  // Of blocks that differ only the root knows where each lies, so that over several nodes it sends each its own.
  const bool by_node_area = same_size && (blocks.total() <= within::given_bytes_max(team) || within::can_expose(team));
  if (by_node_area && nodes.count() == 1 && team.size() > 1) {
    LocalCollective local(team);
    Task<> on_node = scatter_on_node(team, local, all, mine, nodes.local_index_of(root));
    co_await local.run(std::move(on_node));
    co_return;
  }
  if (by_node_area && nodes.largest() > 1) {
    const Group by_nodes = Group::of_nodes(team, participation.sequence(), root).choosing(algorithm);
    if (!goes_straight(by_nodes, blocks)) co_return co_await scatter_two_levels(team, by_nodes, all, mine, root);
    group = group.choosing(Algorithm::linear);
  }
  const between::Known known = same_size ? between::Known::everywhere : between::Known::at_root;
  co_await group.in_phase("between nodes", between::scatter(group, all, mine, blocks, known, root));
}

Task<> gather_by_levels(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                        bool same_size, Algorithm algorithm, CollectiveCall call) {
  const HostParticipation participation(team, call, mine, all);
  check_at_root(call, team, blocks, all.size(), mine.size());
  const std::uint32_t root = call.root;
  const TeamNodes& nodes = team.nodes();
  const bool by_node_area = within::can_expose(team) || (same_size && mine.size() <= within::given_bytes_max(team));
  if (!same_size && !within::can_expose(team) && nodes.count() == 1 && team.size() > 1) {
    const Group group(team, participation.sequence());
    LocalCollective local(team);
    Task<> on_node = gather_or_send(local, group, mine, all, blocks, root);
    co_await local.run(std::move(on_node));
  } else if (by_node_area && nodes.count() == 1 && team.size() > 1) {
    LocalCollective local(team);
    const auto part_of = [&](std::uint32_t other) { return blocks.of(all, nodes.member(0, other)); };
    Task<> on_node = gather_on_node(team, local, mine, nodes.local_index_of(root), part_of);
    co_await local.run(std::move(on_node));
  } else if (by_node_area && same_size && nodes.largest() > 1) {
    co_await gather_two_levels(team, participation.sequence(), mine, all, root, algorithm);
  } else {
    // Of blocks that differ only the root knows how much comes from a node.
    const Group group = Group(team, participation.sequence()).choosing(algorithm);
    const between::Known known = same_size ? between::Known::everywhere : between::Known::at_root;
    co_await group.in_phase("between nodes", between::gather(group, mine, all, blocks, known, root));
  }
}

}  // namespace

Task<> gather_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                    bool same_size, std::uint32_t root, Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{same_size ? Called::gather : Called::gather_v,
                            same_size ? mine.size() : CollectiveCall::kAnyBytes, root, where};
  std::optional<Task<>> short_one;
  if (same_size && team.size() > 1) {
    check_at_root(call, team, blocks, all.size(), mine.size());
    const bool is_short = gather_short(team, mine, all, root, where, RunTask::keeping(short_one));
    CORACLE_ASSERT(is_short == short_one.has_value(), "a short collective has kept no task");
    if (short_one) return std::move(*short_one);
  }
  return gather_by_levels(team, mine, all, std::move(blocks), same_size, algorithm, call);
}

Task<> scatter_bytes(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, Blocks blocks,
                     bool same_size, std::uint32_t root, Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{same_size ? Called::scatter : Called::scatter_v,
                            same_size ? mine.size() : CollectiveCall::kAnyBytes, root, where};
  std::optional<Task<>> short_one;
  if (same_size && team.size() > 1) {
    check_at_root(call, team, blocks, all.size(), mine.size());
    const bool is_short = scatter_short(team, all, mine, root, where, RunTask::keeping(short_one));
    CORACLE_ASSERT(is_short == short_one.has_value(), "a short collective has kept no task");
    if (short_one) return std::move(*short_one);
  }
  if (!same_size && team.nodes().count() == 1) return scatter_parts(team, all, mine, std::move(blocks), call);
  return scatter_by_levels(team, all, mine, std::move(blocks), same_size, algorithm, call);
}

}  // namespace coracle::internals
