// gather_all in two levels: on each node by the node area, where all copy from all; between nodes by the first of each.
#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/between/between.hpp"
#include "collectives/blocking.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/data/packed.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/node/exchanged_pieces.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/short_collective.hpp"
#include "runtime/core/copy_short.hpp"

namespace coracle::internals {
namespace {

std::size_t largest_of(const Blocks& blocks) {
  std::size_t largest = 0;
  for (std::uint32_t member = 0; member < blocks.count(); ++member) largest = std::max(largest, blocks.bytes(member));
  return largest;
}

void put_in_place(std::span<const std::byte> mine, std::span<std::byte> own) noexcept {
  if (own.data() != mine.data()) std::copy(mine.begin(), mine.end(), own.begin());
}

/// Whether a member whose part takes so many bytes gives it to the others, and goes on. Where each rank has a core,
/// more than can be exchanged at once is read where it lies: here all wait for all anyway, and the lines of a copy
/// would have to be fetched from those who read the last one. Figures: docs/design/collectives.md.
bool is_part_given(LocalCollective& local, Team& team, std::size_t bytes) noexcept {
  // As parts_suit_exchange(): a member whose blocks lie in a row goes that way, whatever the others have.
  if (within::hands(team, bytes)) return true;
  constexpr std::size_t kGivenBytesMax = 4096;
  const bool is_read_in_place = within::can_expose(team) && team.rank().loop().spins();
  return bytes <= (is_read_in_place ? kGivenBytesMax : local.given_bytes_max());
}

/// Others read `mine` where the caller has it: its lines stay as they are, which a copy's would not.
Task<> gather_on_node(LocalCollective& local, Team& team, std::span<const std::byte> mine, std::span<std::byte> all,
                      const Blocks& blocks) {
  const TeamNodes& nodes = team.nodes();
  // Where memory is reached, members whose blocks are placed anyhow may go straight from layout to layout.
  const bool are_equal = blocks.alike() || (!within::reaches(team) && blocks.bytes(0) == blocks.bytes(team.size() - 1));
  if (are_equal && ExchangedPieces::suits(team, mine.size(), 1)) {
    co_await within::exchange_bytes(team, local, mine, blocks.of(all, 1 - team.index()));
    co_return put_in_place(mine, blocks.of(all, team.index()));
  }
  const bool small = is_part_given(local, team, largest_of(blocks));
  if (!local.try_provide(mine, small)) co_await local.give(mine);
  put_in_place(mine, blocks.of(all, team.index()));
  co_await within::take_all(local, [&](std::uint32_t other) { return blocks.of(all, nodes.member(0, other)); });
  if (!small) co_await local.meet(2);
}

/// Between the leaders, of which each has collected the blocks of its node, and back to the local members.
Task<> lead(LocalCollective* local, Team& team, Group leaders, std::span<std::byte> all, const Blocks& blocks) {
  const TeamNodes& nodes = team.nodes();
  const Packed packed(team, blocks);
  const Scratch turned(packed.is_plain() || local != nullptr ? 0 : blocks.total());
  std::span<std::byte> parts = packed.is_plain() ? all : turned.span();
  if (local != nullptr && !packed.is_plain()) parts = local->keep(blocks.total());
  const std::span<std::byte> own = packed.by_node().of(parts, nodes.own());
  const std::span<std::byte> mine = blocks.of(all, team.index());
  // For a lone member of its node this is no copy when `parts` is `all`.
  if (own.data() != mine.data()) std::copy(mine.begin(), mine.end(), own.begin());
  if (local != nullptr)
    co_await within::take_all(*local, [&](std::uint32_t other) {
      const std::uint32_t member = nodes.member(nodes.own(), other);
      return own.subspan(packed.offset_in_node(member), blocks.bytes(member));
    });
  co_await leaders.in_phase("between nodes", between::gather_all(leaders, parts, packed.by_node()));
  if (local != nullptr) co_await within::hand_out(*local, parts, 2, parts.size() <= local->given_bytes_max());
  if (!packed.is_plain()) packed.unpack(parts, all);
}

Task<> follow(LocalCollective& local, Team& team, std::span<const std::byte> mine, std::span<std::byte> all,
              const Blocks& blocks) {
  // Exposed until the leader hands out, which is more than collecting.
  if (!local.try_provide(mine, mine.size() <= local.given_bytes_max())) co_await local.give(mine);
  const Packed packed(team, blocks);
  const Scratch turned(packed.is_plain() ? 0 : blocks.total());
  const std::span<std::byte> parts = packed.is_plain() ? all : turned.span();
  co_await within::fetch(local, 0, parts.size(), 0, parts, 2, parts.size() <= local.given_bytes_max());
  if (!packed.is_plain()) packed.unpack(parts, all);
}

/// Of a member with local members, where there are several nodes. Its own block is in its place.
Task<> part_of(LocalCollective& local, Team& team, Group leaders, std::span<std::byte> all, const Blocks& blocks) {
  const std::span<std::byte> own = blocks.of(all, team.index());
  return local.local_index() == 0 ? lead(&local, team, leaders, all, blocks) : follow(local, team, own, all, blocks);
}

/// Small data of the same size among few.
struct ExchangedParts {
  static constexpr bool kAwaitsAll = true;

  std::span<const std::byte> mine;
  std::span<std::byte> all;
  Called called;

  void check(const Team& team) const {
    CORACLE_ASSERT(all.size() == team.size() * mine.size(), "{}: a buffer of {} bytes for blocks of {} bytes in all",
                   name_of(called), all.size(), team.size() * mine.size());
  }
  bool gives(LocalCollective& /*local*/) const noexcept { return true; }
  std::span<const std::byte> given() const noexcept { return mine; }
  bool take(LocalCollective& local) const {
    const std::size_t bytes = mine.size();
    for (std::uint32_t other = 0; other < local.count(); ++other) {
      std::byte* const part = all.data() + other * bytes;
      if (other != local.local_index())
        copy_short({local.data_of(other, bytes), bytes}, part);
      else if (mine.data() != part)
        copy_short(mine, part);
    }
    return true;
  }
};

/// The same where they differ, as all members know.
struct ExchangedDiffering {
  static constexpr bool kAwaitsAll = true;

  std::span<const std::byte> mine;
  const TargetBlocks& all;

  bool gives(LocalCollective& /*local*/) const noexcept { return true; }
  std::span<const std::byte> given() const noexcept { return mine; }
  bool take(LocalCollective& local) const {
    for (std::uint32_t other = 0; other < local.count(); ++other) {
      const std::span<std::byte> part = all.of(other).span();
      if (other != local.local_index())
        copy_short({local.data_of(other, part.size()), part.size()}, part.data());
      else if (mine.data() != part.data())
        copy_short(mine, part.data());
    }
    return true;
  }
};

Task<> gather_all_by_levels(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                            Algorithm algorithm, CollectiveCall call) {
  const HostParticipation participation(team, call, mine, all);
  check_blocks(name_of(call.called), blocks, team.size(), all.size());
  check_block(name_of(call.called), blocks, team.index(), mine.size());
  const std::uint64_t sequence = participation.sequence();
  const TeamNodes& nodes = team.nodes();
  const bool is_on_node = nodes.count() == 1 && team.size() > 1 &&
                          (within::can_expose(team) || largest_of(blocks) <= within::given_bytes_max(team) ||
                           within::hands(team, largest_of(blocks)));
  if (is_on_node) {
    LocalCollective local(team);
    Task<> gathered = gather_on_node(local, team, mine, all, blocks);
    co_return co_await local.run(std::move(gathered));
  }
  put_in_place(mine, blocks.of(all, team.index()));
  if (team.size() == 1) co_return;
  if (nodes.count() == 1 || nodes.largest() == 1 ||
      (blocks.total() > within::given_bytes_max(team) && !within::can_expose(team))) {
    co_await Group(team, sequence)
        .choosing(algorithm)
        .in_phase("between nodes", between::gather_all(Group(team, sequence).choosing(algorithm), all, blocks));
    co_return;
  }
  const Group leaders = Group::of_nodes(team, sequence).choosing(algorithm);
  if (nodes.size_of(nodes.own()) == 1) {
    co_await lead(nullptr, team, leaders, all, blocks);
    co_return;
  }
  LocalCollective local(team);
  Task<> part = part_of(local, team, leaders, all, blocks);
  co_await local.run(std::move(part));
}

bool parts_suit_exchange(Team& team, std::size_t part_bytes) noexcept {
  constexpr std::uint32_t kExchangingMax = 32;
  constexpr std::size_t kBytesMax = 4096;  // then reading it where it lies
  const std::size_t most = std::max(kBytesMax, within::handed_bytes_max(team));
  return team.size() > 1 && within::can_exchange(team, part_bytes, kExchangingMax, most);
}

}  // namespace

Task<> gather_all_bytes(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, Blocks blocks,
                        Algorithm algorithm, std::source_location where, Called called) {
  const CollectiveCall call{called, blocks.total(), CollectiveCall::kNoRoot, where};
  if (blocks.alike() && parts_suit_exchange(team, blocks.bytes(0)))
    return short_collective(on_device(team, mine, all), team, call, ExchangedParts{mine, all, called});
  return gather_all_by_levels(team, mine, all, std::move(blocks), algorithm, call);
}

void gather_all_blocking(Team& team, std::span<const std::byte> mine, std::span<std::byte> all,
                         std::source_location where, RunTask run) {
  if (!parts_suit_exchange(team, mine.size())) {
    const Blocks blocks(team.size(), mine.size());
    return run(gather_all_bytes(team, mine, all, blocks, Algorithm::automatic, where));
  }
  const CollectiveCall call{Called::gather_all, all.size(), CollectiveCall::kNoRoot, where};
  short_collective_blocking(on_device(team, mine, all), team, call, ExchangedParts{mine, all, call.called}, run);
}

bool gather_all_parts_short(Team& team, std::span<const std::byte> mine, const TargetBlocks& all,
                            std::source_location where, RunTask run) {
  std::size_t largest = 0;
  std::size_t total = 0;
  for (std::uint32_t member = 0; member < all.members(); ++member) {
    largest = std::max(largest, all.bytes_of(member));
    total += all.bytes_of(member);
  }
  if (!parts_suit_exchange(team, largest) || any_on_device(team, SourceBlocks(), all) || on_device(team, mine))
    return false;
  const CollectiveCall call{Called::gather_all, total, CollectiveCall::kNoRoot, where};
  short_collective_blocking(false, team, call, ExchangedDiffering{mine, all}, run);
  return true;
}

}  // namespace coracle::internals
