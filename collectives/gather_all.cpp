// gather_all in two levels: on each node by the board, where all copy from all; between nodes by the first of each.
#include <algorithm>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/packed.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/node/mates.hpp"

namespace coracle::internals {
namespace {

std::size_t largest_of(const Blocks& blocks) {
  std::size_t largest = 0;
  for (std::uint32_t member = 0; member < blocks.count(); ++member) largest = std::max(largest, blocks.bytes(member));
  return largest;
}

Task<> gather_on_node(Mates& mates, const TeamNodes& nodes, std::span<const std::byte> mine, std::span<std::byte> all,
                      const Blocks& blocks) {
  const bool small = largest_of(blocks) <= mates.given_bytes_max();
  co_await mates.provide(mine, small);
  co_await mates.take_all([&](std::uint32_t mate) { return blocks.of(all, nodes.member(0, mate)); });
  if (!small) co_await mates.meet(2);
}

/// Between the leaders, of which each has collected the blocks of its node, and back to the mates.
Task<> lead(Mates* mates, Team& team, Group leaders, std::span<std::byte> all, const Blocks& blocks) {
  const TeamNodes& nodes = team.nodes();
  const Packed packed(team, blocks);
  const Scratch turned(packed.is_plain() || mates != nullptr ? 0 : all.size());
  std::span<std::byte> parts = packed.is_plain() ? all : turned.span();
  if (mates != nullptr && !packed.is_plain()) parts = mates->keep(all.size());
  const std::span<std::byte> own = packed.by_node().of(parts, nodes.own());
  const std::span<std::byte> mine = blocks.of(all, team.index());
  // For a lone member of its node this is no copy when `parts` is `all`.
  if (own.data() != mine.data()) std::copy(mine.begin(), mine.end(), own.begin());
  if (mates != nullptr)
    co_await mates->take_all([&](std::uint32_t mate) {
      const std::uint32_t member = nodes.member(nodes.own(), mate);
      return own.subspan(packed.offset_in_node(member), blocks.bytes(member));
    });
  co_await between::gather_all(leaders, parts, packed.by_node());
  if (mates != nullptr) co_await mates->hand_out(parts, 2, all.size() <= mates->given_bytes_max());
  if (!packed.is_plain()) packed.unpack(parts, all);
}

Task<> follow(Mates& mates, Team& team, std::span<const std::byte> mine, std::span<std::byte> all,
              const Blocks& blocks) {
  // Lent until the leader hands out, which is more than collecting.
  co_await mates.provide(mine, mine.size() <= mates.given_bytes_max());
  const Packed packed(team, blocks);
  const Scratch turned(packed.is_plain() ? 0 : all.size());
  const std::span<std::byte> parts = packed.is_plain() ? all : turned.span();
  co_await mates.fetch(0, all.size(), 0, parts, 2, all.size() <= mates.given_bytes_max());
  if (!packed.is_plain()) packed.unpack(parts, all);
}

/// Of a member with node-mates. Its own block is in its place.
Task<> part_of(Mates& mates, Team& team, Group leaders, std::span<std::byte> all, const Blocks& blocks) {
  const std::span<std::byte> own = blocks.of(all, team.index());
  if (team.nodes().count() == 1) return gather_on_node(mates, team.nodes(), own, all, blocks);
  return mates.place() == 0 ? lead(&mates, team, leaders, all, blocks) : follow(mates, team, own, all, blocks);
}

}  // namespace

Task<> gather_all_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                        Algorithm algorithm, std::source_location where, Called called) {
  const CollectiveCall call{called, blocks.total(), CollectiveCall::kNoRoot, where};
  const HostParticipation participation(team, call, mine, all);
  check_blocks(name_of(called), blocks, team.size(), all.size());
  check_block(name_of(called), blocks, team.index(), mine.size());
  const std::uint64_t sequence = participation.sequence();
  const std::span<std::byte> own = blocks.of(all, team.index());
  if (own.data() != mine.data()) std::copy(mine.begin(), mine.end(), own.begin());
  if (team.size() == 1) co_return;
  const TeamNodes& nodes = team.nodes();
  const std::size_t most_given = nodes.count() == 1 ? largest_of(blocks) : blocks.total();
  if (nodes.largest() == 1 || (most_given > Mates::given_bytes_max(team) && !Mates::can_lend(team))) {
    co_await between::gather_all(Group(team, sequence).choosing(algorithm), all, blocks);
    co_return;
  }
  const Group leaders = Group::of_nodes(team, sequence).choosing(algorithm);
  if (nodes.size_of(nodes.own()) == 1) {
    co_await lead(nullptr, team, leaders, all, blocks);
    co_return;
  }
  Mates mates(team);
  Task<> part = part_of(mates, team, leaders, all, blocks);
  co_await mates.run(std::move(part));
}

}  // namespace coracle::internals
