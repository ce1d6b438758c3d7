// reduce_scatter in two levels: on one node each combines its block straight out of the others' buffers; with other
// nodes the first of each has the sums of its node, and hands out what comes back.
#include <algorithm>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/blocking.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/packed.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/exchanged_pieces.hpp"
#include "collectives/node/exchanged_values.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/short_collective.hpp"
#include "collectives/reductions.hpp"

namespace coracle::internals {
namespace {

constexpr std::size_t kScatteredAtOnceMax = 16 * 1024;

Task<> combine_on_node(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> mine,
                       const Blocks& blocks, const Reduction& reduction) {
  const bool small = values.size() <= std::min(kScatteredAtOnceMax, local.given_bytes_max());
  if (!local.try_provide(values, small)) co_await local.give(values);
  co_await local.wait_for_all(1);
  local.check_all_bytes(values.size());
  const std::size_t offset = blocks.offset(local.local_index());
  co_await within::combine_all(local, offset, values.subspan(offset, mine.size()), mine.data(), reduction);
  if (!small) co_await local.meet(2);
}

/// Where members can't expose their values.
bool blocks_suit_staging(Team& team, std::size_t bytes, const Blocks& blocks, const Reduction& reduction) noexcept {
  return team.size() > 1 && bytes > 0 && within::suits_reduce_scatter_staged(team, blocks, reduction);
}

Task<> reduce_two_levels(LocalCollective* local, Team& team, Group leaders, std::span<const std::byte> values,
                         std::span<std::byte> mine, const Blocks& blocks, const Reduction& reduction) {
  const TeamNodes& nodes = team.nodes();
  const Packed packed(team, blocks);
  const bool leads = local == nullptr || local->local_index() == 0;
  const Scratch sum(leads ? values.size() : 0);
  std::span<std::byte> part = mine;
  if (leads && local != nullptr) part = local->keep(packed.by_node().bytes(nodes.own()));
  std::uint64_t step = 0;
  if (local == nullptr)
    std::copy(values.begin(), values.end(), sum.data());
  else if (values.size() <= std::min(kScatteredAtOnceMax, local->given_bytes_max()))
    co_await within::reduce_small(*local, values, sum.span(), 0, reduction);
  else
    step = co_await within::reduce_large(*local, values, sum.span(), within::Takers::one, reduction);
  if (leads)
    co_await leaders.in_phase("between nodes",
                              between::reduce_scatter(leaders, sum.span(), part, packed.by_node(), reduction));
  if (local == nullptr) co_return;
  // The sums stay exposed until all have theirs; what was given before is not needed any more.
  const std::size_t offset = packed.offset_in_node(team.index());
  if (!leads) co_return co_await within::fetch(*local, 0, packed.by_node().bytes(nodes.own()), offset, mine, step + 2);
  std::copy_n(part.data() + offset, mine.size(), mine.data());
  co_await within::hand_out(*local, part, step + 2);
}

void check_scattered(const Team& team, std::span<const std::byte> values, std::span<std::byte> mine,
                     const Blocks& blocks) {
  check_blocks("reduce_scatter", blocks, team.size(), values.size());
  check_block("reduce_scatter", blocks, team.index(), mine.size());
}

ExchangedBlock exchanged_block(const Team& team, std::span<const std::byte> values, std::span<std::byte> mine,
                               const Blocks& blocks, const Reduction& reduction) {
  check_scattered(team, values, mine, blocks);
  return {blocks.of(values, 1 - team.index()), blocks.of(values, team.index()), mine, reduction};
}

Task<> reduce_scatter_by_levels(Team& team, std::span<const std::byte> values, std::span<std::byte> mine, Blocks blocks,
                                Reduction reduction, Algorithm algorithm, CollectiveCall call) {
  const HostParticipation participation(team, call, values, mine);
  check_scattered(team, values, mine, blocks);
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  const bool staged = blocks_suit_staging(team, values.size(), blocks, reduction);
  if (!staged && (nodes.largest() == 1 || !nodes.contiguous() || !within::suits_reduce_large(team, reduction))) {
    co_await Group(team, sequence)
        .choosing(algorithm)
        .in_phase("between nodes",
                  between::reduce_scatter(Group(team, sequence).choosing(algorithm), values, mine, blocks, reduction));
    co_return;
  }
  const Group leaders = Group::of_nodes(team, sequence).choosing(algorithm);
  if (nodes.size_of(nodes.own()) == 1) {
    co_await reduce_two_levels(nullptr, team, leaders, values, mine, blocks, reduction);
    co_return;
  }
  LocalCollective local(team);
  const bool by_pieces = team.size() == 2 && nodes.count() == 1 && blocks.bytes(0) == blocks.bytes(1) &&
                         ExchangedPieces::suits(team, mine.size(), reduction.element_bytes);
  const ExchangedBlock pair = by_pieces ? exchanged_block(team, values, mine, blocks, reduction) : ExchangedBlock{};
  Task<> part = by_pieces            ? within::exchange_block(team, local, pair)
                : staged             ? within::reduce_scatter_staged(local, values, mine, blocks, reduction)
                : nodes.count() == 1 ? combine_on_node(local, values, mine, blocks, reduction)
                                     : reduce_two_levels(&local, team, leaders, values, mine, blocks, reduction);
  co_await local.run(std::move(part));
}

/// Whether each looks at what all others give, small as it is, and combines its block.
bool blocks_suit_exchange(Team& team, std::size_t bytes) noexcept {
  return team.size() > 1 && within::can_exchange(team, bytes, team.size(), kScatteredAtOnceMax);
}

/// Whether two members hand each other the values of the other's block.
bool is_handed(Team& team, const Blocks& blocks) noexcept {
  return team.size() == 2 && blocks.count() == 2 && within::hands(team, std::max(blocks.bytes(0), blocks.bytes(1)));
}

ExchangedValues exchanged_blocks(const Team& team, std::span<const std::byte> values, std::span<std::byte> mine,
                                 const Blocks& blocks, const Reduction& reduction) {
  check_scattered(team, values, mine, blocks);
  return {values, mine, reduction, blocks.offset(team.index())};
}

}  // namespace

Task<> reduce_scatter_bytes(Team& team, std::span<const std::byte> values, std::span<std::byte> mine, Blocks blocks,
                            Reduction reduction, Algorithm algorithm, std::source_location where) {
  const CollectiveCall call{Called::reduce_scatter, values.size(), CollectiveCall::kNoRoot, where};
  if (is_handed(team, blocks))
    return short_collective(on_device(team, values, mine), team, call,
                            exchanged_block(team, values, mine, blocks, reduction));
  if (!blocks_suit_exchange(team, values.size()))
    return reduce_scatter_by_levels(team, values, mine, std::move(blocks), reduction, algorithm, call);
  return short_collective(on_device(team, values, mine), team, call,
                          exchanged_blocks(team, values, mine, blocks, reduction));
}

void reduce_scatter_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> mine,
                             const Blocks& blocks, Reduction reduction, std::source_location where, RunTask run) {
  if (!is_handed(team, blocks) && !blocks_suit_exchange(team, values.size()))
    return run(reduce_scatter_bytes(team, values, mine, blocks, reduction, Algorithm::automatic, where));
  const CollectiveCall call{Called::reduce_scatter, values.size(), CollectiveCall::kNoRoot, where};
  if (is_handed(team, blocks))
    return short_collective_blocking(on_device(team, values, mine), team, call,
                                     exchanged_block(team, values, mine, blocks, reduction), run);
  short_collective_blocking(on_device(team, values, mine), team, call,
                            exchanged_blocks(team, values, mine, blocks, reduction), run);
}

}  // namespace coracle::internals
