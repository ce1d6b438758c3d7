// reduce_scatter in two levels: on one node each combines its block straight out of its mates' buffers; with other
// nodes the first of each has the sums of its node, and hands out what comes back.
#include <algorithm>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/packed.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/mates.hpp"
#include "collectives/node/reduce_within.hpp"
#include "collectives/reductions.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kScatteredAtOnceMax = 16 * 1024;

Task<> combine_on_node(Mates& mates, std::span<const std::byte> values, std::span<std::byte> mine, const Blocks& blocks,
                       const Reduction& reduction) {
  const bool small = values.size() <= std::min(kScatteredAtOnceMax, mates.given_bytes_max());
  co_await mates.provide(values, small);
  co_await mates.wait_for_all(1);
  mates.check_all_bytes(values.size());
  const std::size_t offset = blocks.offset(mates.place());
  co_await within::combine_all(mates, offset, values.subspan(offset, mine.size()), mine.data(), reduction);
  if (!small) co_await mates.meet(2);
}

Task<> reduce_two_levels(Mates* mates, Team& team, Group leaders, std::span<const std::byte> values,
                         std::span<std::byte> mine, const Blocks& blocks, const Reduction& reduction) {
  const TeamNodes& nodes = team.nodes();
  const Packed packed(team, blocks);
  const bool leads = mates == nullptr || mates->place() == 0;
  const Scratch sum(leads ? values.size() : 0);
  std::span<std::byte> part = mine;
  if (leads && mates != nullptr) part = mates->keep(packed.by_node().bytes(nodes.own()));
  std::uint64_t stage = 0;
  if (mates == nullptr)
    std::copy(values.begin(), values.end(), sum.data());
  else if (values.size() <= std::min(kScatteredAtOnceMax, mates->given_bytes_max()))
    co_await within::reduce_small(*mates, values, sum.span(), 0, reduction);
  else
    stage = co_await within::reduce_large(*mates, values, sum.span(), reduction);
  if (leads) co_await between::reduce_scatter(leaders, sum.span(), part, packed.by_node(), reduction);
  if (mates == nullptr) co_return;
  // The sums stay lent until all have theirs; what was given before is not needed any more.
  const std::size_t offset = packed.offset_in_node(team.index());
  if (!leads) co_return co_await mates->fetch(0, packed.by_node().bytes(nodes.own()), offset, mine, stage + 2);
  std::copy_n(part.data() + offset, mine.size(), mine.data());
  co_await mates->hand_out(part, stage + 2);
}

}  // namespace

Task<> reduce_scatter_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> mine, Blocks blocks,
                            Reduction reduction, Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{Called::reduce_scatter, values.size(), CollectiveCall::kNoRoot, where};
  const HostParticipation participation(team, call, values, mine);
  check_blocks("reduce_scatter", blocks, team.size(), values.size());
  check_block("reduce_scatter", blocks, team.index(), mine.size());
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  if (nodes.largest() == 1 || !nodes.contiguous() || !within::suits_reduce_large(team, reduction)) {
    co_await between::reduce_scatter(Group(team, sequence).choosing(algorithm), values, mine, blocks, reduction);
    co_return;
  }
  const Group leaders = Group::of_nodes(team, sequence).choosing(algorithm);
  if (nodes.size_of(nodes.own()) == 1) {
    co_await reduce_two_levels(nullptr, team, leaders, values, mine, blocks, reduction);
    co_return;
  }
  Mates mates(team);
  Task<> part = nodes.count() == 1 ? combine_on_node(mates, values, mine, blocks, reduction)
                                   : reduce_two_levels(&mates, team, leaders, values, mine, blocks, reduction);
  co_await mates.run(std::move(part));
}

}  // namespace coracle::internals
