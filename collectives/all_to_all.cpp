// all_to_all: on a node each copies its blocks straight out of the others' buffers; with members of other nodes pair by
// pair, at the same time.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/between/between.hpp"
#include "collectives/blocking.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/node/exchanged_pieces.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/others_blocks.hpp"
#include "collectives/node/short_collective.hpp"
#include "collectives/parts/member_blocks.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/copy_short.hpp"

namespace coracle::internals {
namespace {

// Where each rank has a core, or blocks are large: a longer copy that others then fetch from core to core costs more
// than to wait until all have fetched what lies there. With data just computed the copy is the quicker way up to here
// (two that send each other 4 KiB: 1.8 in place of 1.9 us, and 3.5 in place of 4.3 where they share no cache).
constexpr std::size_t kCopiedBytesMax = 8192;

/// `target`, `blocks`: of the whole team.
Task<> exchange_on_node(LocalCollective& local, Team& team, std::span<const std::byte> source,
                        std::span<std::byte> target, const Blocks& blocks) {
  const TeamNodes& nodes = team.nodes();
  if (ExchangedPieces::suits(team, blocks.bytes(0), 1)) {
    const std::uint32_t second = 1 - team.index();
    co_await within::exchange_bytes(team, local, blocks.of(source, second), blocks.of(target, second));
    co_return copy_bytes(blocks.of(source, team.index()), blocks.of(target, team.index()));
  }
  const bool small = source.size() <= (within::can_expose(team) ? kCopiedBytesMax : local.given_bytes_max());
  if (!local.try_provide(source, small)) co_await local.give(source);
  const Copying how = small ? Copying::by_caches : within::copying_of(local, source.size());
  const auto own = blocks.of(source, team.index());
  std::copy(own.begin(), own.end(), blocks.of(target, team.index()).begin());
  for (std::uint32_t distance = 1; distance < local.count(); ++distance) {
    const std::uint32_t other = (local.local_index() + distance) % local.count();
    co_await local.wait(other, 1);
    local.check_bytes(other, source.size());
    co_await local.take(other, blocks.offset(team.index()), blocks.of(target, nodes.member(nodes.own(), other)), how);
  }
  if (!small) co_await local.meet(2);
}

void check_divides(const Team& team, std::size_t bytes) {
  CORACLE_ASSERT(bytes % team.size() == 0, "all_to_all: {} bytes for {} members", bytes, team.size());
}

/// Small data among few.
struct ExchangedBlocks {
  static constexpr bool kAwaitsAll = true;

  OthersBlocks others;
  std::span<std::byte> target;

  ExchangedBlocks(const Team& team, std::span<const std::byte> source, std::span<std::byte> to) noexcept
      : others{source, source.size() / team.size(), team.index()}, target(to) {}

  void check(const Team& team) const { check_divides(team, others.source.size()); }
  bool gives(LocalCollective& /*local*/) const noexcept { return true; }
  const OthersBlocks& given() const noexcept { return others; }
  bool take(LocalCollective& local) const {
    const std::size_t bytes = others.block_bytes;
    for (std::uint32_t other = 0; other < local.count(); ++other) {
      const std::byte* theirs = other == others.own ? others.source.data() + other * bytes
                                                    : local.data_of(other, others.bytes()) +
                                                          OthersBlocks::place_of(others.own, other) * bytes;
      copy_short({theirs, bytes}, target.data() + other * bytes);
    }
    return true;
  }
};

Task<> all_to_all_by_node_area(Team& team, std::span<const std::byte> source, Blocks source_blocks,
                               std::span<std::byte> target, Blocks target_blocks, bool same_size, Algorithm algorithm,
                               CollectiveCall call) {
  const HostParticipation participation(team, call, source, target);
  if (same_size) check_divides(team, source.size());
  check_blocks("all_to_all, source", source_blocks, team.size(), source.size());
  check_blocks("all_to_all, target", target_blocks, team.size(), target.size());
  check_block("all_to_all", source_blocks, team.index(), target_blocks.bytes(team.index()));
  const Group group = Group(team, participation.sequence()).choosing(algorithm);
  const TeamNodes& nodes = team.nodes();
  const bool by_node_area = source.size() <= within::given_bytes_max(team) || within::can_expose(team);
  // Of blocks that differ, only their sender knows where they lie.
  if (!same_size || !by_node_area || nodes.largest() == 1 ||
      (nodes.count() > 1 && between::forwards_all_to_all(group, source_blocks.bytes(0)))) {
    co_await group.in_phase(
        "between nodes", between::all_to_all(group, source, source_blocks, target, target_blocks, same_size, nullptr));
    co_return;
  }
  if (nodes.size_of(nodes.own()) == 1) {
    co_await group.in_phase("between nodes",
                            between::all_to_all(group, source, source_blocks, target, target_blocks, false, &nodes));
    co_return;
  }
  LocalCollective local(team);
  Task<> on_node = exchange_on_node(local, team, source, target, source_blocks);
  Task<> guarded = local.run(std::move(on_node));
  if (nodes.count() == 1) co_return co_await guarded;
  Task<> others = between::all_to_all(group, source, source_blocks, target, target_blocks, false, &nodes);
  co_await when_all(std::move(guarded), std::move(others));
}

/// Whether members give blocks of one size, `bytes` in all: small ones, and those that two hand each other.
bool gives_blocks(Team& team, std::size_t bytes) {
  return (team.size() == 2 && within::hands(team, bytes / 2)) || exchanges_at_once(team, bytes);
}

/// Of blocks that differ, on one node.
Task<> exchange_parts(Team& team, std::span<const std::byte> source, Blocks source_blocks, std::span<std::byte> target,
                      Blocks target_blocks, CollectiveCall call) {
  std::optional<Preparation> preparation;
  if (!on_device(team, source, target)) preparation.emplace(team, name_of(call.called));  // who has any hears of that
  check_blocks("all_to_all, source", source_blocks, team.size(), source.size());
  check_blocks("all_to_all, target", target_blocks, team.size(), target.size());
  const std::vector<MessageSource> sources = listed(source, source_blocks);
  const std::vector<MessageTarget> targets = listed(target, target_blocks);
  co_await all_to_all_parts(team, SourceBlocks(sources), TargetBlocks(targets), call);
}

}  // namespace

bool exchanges_at_once(Team& team, std::size_t bytes) {
  constexpr std::uint32_t kExchangingMax = 32;
  const bool quick = bytes <= kCopiedBytesMax || !team.rank().loop().spins();
  return quick && within::can_exchange(team, bytes, kExchangingMax, kCopiedBytesMax);
}

void all_to_all_blocking(Team& team, std::span<const std::byte> source, std::span<std::byte> target,
                         std::source_location where, RunTask run) {
  if (target.size() != source.size() || !gives_blocks(team, source.size())) {
    const Blocks blocks(team.size(), source.size() / team.size());
    return run(all_to_all_bytes(team, source, blocks, target, blocks, true, Algorithm::automatic, where));
  }
  const CollectiveCall call{Called::all_to_all, source.size(), CollectiveCall::kNoRoot, where};
  short_collective_blocking(on_device(team, source, target), team, call, ExchangedBlocks(team, source, target), run);
}

Task<> all_to_all_bytes(Team& team, std::span<const std::byte> source, Blocks source_blocks,
                        std::span<std::byte> target, Blocks target_blocks, bool same_size, Algorithm algorithm,
                        std::source_location where) {
  const CollectiveCall call{same_size ? Called::all_to_all : Called::all_to_all_v,
                            same_size ? source.size() : CollectiveCall::kAnyBytes, CollectiveCall::kNoRoot, where};
  if (same_size && target.size() == source.size() && gives_blocks(team, source.size()))
    return short_collective(on_device(team, source, target), team, call, ExchangedBlocks(team, source, target));
  if (!same_size && team.nodes().count() == 1)
    return exchange_parts(team, source, std::move(source_blocks), target, std::move(target_blocks), call);
  return all_to_all_by_node_area(team, source, std::move(source_blocks), target, std::move(target_blocks), same_size,
                                 algorithm, call);
}

}  // namespace coracle::internals
