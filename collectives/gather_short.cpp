// gather and scatter on a team's only node, where nobody waits for anybody but a root for what it gathers, and others
// for what a root scatters: short ones, and all scatters of blocks that differ, which only the root knows.
#include <algorithm>
#include <optional>
#include <vector>

#include "collectives/blocking.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/node/others_blocks.hpp"
#include "collectives/node/short_collective.hpp"
#include "collectives/parts/local_parts.hpp"
#include "runtime/core/copy_short.hpp"

namespace coracle::internals {
namespace {

/// Whether what is so long is copied to where others read it.
bool is_given(Team& team, std::size_t bytes) noexcept {
  return team.nodes().count() == 1 && team.rank().placement() != Placement::sim &&
         bytes <= within::given_bytes_max(team);
}

/// `part_of(other)`: of the root, where a member's block goes.
template <class PartOf>
struct GatheredByRoot {
  static constexpr bool kAwaitsAll = false;

  std::span<const std::byte> mine;
  std::uint32_t root;
  PartOf part_of;

  bool gives(LocalCollective& local) const noexcept { return local.local_index() != root; }
  std::span<const std::byte> given() const noexcept { return mine; }
  bool awaits(LocalCollective& local, std::uint32_t other) const noexcept { return !gives(local) && other != root; }
  bool take(LocalCollective& local) const {
    if (gives(local)) return true;
    for (std::uint32_t other = 0; other < local.count(); ++other) {
      const std::span<std::byte> part = part_of(other);
      // Who has exposed more instead has another size, too.
      if (other != root)
        copy_short({local.data_of(other, part.size()), part.size()}, part.data());
      else if (mine.data() != part.data())
        copy_short(mine, part.data());
    }
    return true;
  }
};

template <class PartOf>
void gather_by_root(Team& team, std::span<const std::byte> mine, std::uint32_t root, const CollectiveCall& call,
                    RunTask run, const PartOf& part_of) {
  short_collective_blocking(false, team, call, GatheredByRoot<PartOf>{mine, root, part_of}, run);
}

/// All of the same size.
struct ScatteredByRoot {
  static constexpr bool kAwaitsAll = false;

  OthersBlocks blocks;  ///< Of the root; empty at others.
  std::span<std::byte> mine;
  std::uint32_t root;

  bool gives(LocalCollective& local) const noexcept { return local.local_index() == root; }
  const OthersBlocks& given() const noexcept { return blocks; }
  bool awaits(LocalCollective& local, std::uint32_t other) const noexcept { return other == root && !gives(local); }
  bool take(LocalCollective& local) const {
    const std::size_t bytes = mine.size();
    const std::byte* const from = gives(local) ? blocks.source.data() + root * bytes
                                               : local.data_of(root, (local.count() - 1) * bytes) +
                                                     OthersBlocks::place_of(local.local_index(), root) * bytes;
    if (from != mine.data()) copy_short({from, bytes}, mine.data());
    return true;
  }
};

/// Of sizes that differ. `parts`, `given_parts`: of the root; they are short.
struct ScatteredParts {
  static constexpr bool kAwaitsAll = false;

  Team& team;
  const SourceBlocks& parts;
  MessageTarget mine;
  std::uint32_t root;
  GivenParts given_parts;

  bool gives(LocalCollective& local) const noexcept { return local.local_index() == root; }
  const GivenParts& given() const noexcept { return given_parts; }
  bool awaits(LocalCollective& local, std::uint32_t other) const noexcept { return other == root && !gives(local); }
  bool take(LocalCollective& local) const {
    if (gives(local)) {
      copy_own_part(parts, root, mine);
      return true;
    }
    local.round().check(root);
    return LocalParts::way_of(local.round(), root) == PartsWay::given && LocalParts::try_take(local, root, mine);
  }
  Task<> take_in_time(LocalCollective& local, std::uint64_t sequence) const {
    Task<> rest = take_otherwise(local, sequence);
    return local.run(std::move(rest));
  }

 private:
  Task<> take_otherwise(LocalCollective& local, std::uint64_t sequence) const {
    co_await LocalParts(team, local, sequence).take(root, mine);
    if (is_awaiting(LocalParts::way_of(local.round(), root))) local.round().publish(2);
  }
};

/// Of a root whose parts are long.
Task<> scatter_long(LocalCollective& local, Team& team, std::uint64_t sequence, const SourceBlocks& parts,
                    MessageTarget mine) {
  const GivenParts given(parts, team.index());
  if (given.are_plain_of_two() && given.try_hand(local)) co_return copy_own_part(parts, team.index(), mine);
  LocalParts way(team, local, sequence);
  const bool is_awaited = is_awaiting(way.say(parts));
  copy_own_part(parts, team.index(), mine);
  if (is_awaited) co_return co_await local.wait_for_all(2);
  co_await between::in_lanes(local.count() - 1, [&](std::uint32_t lane) {
    const std::uint32_t other = (local.local_index() + 1 + lane) % local.count();
    return way.send(other, parts.of(other));
  });
}

}  // namespace

Task<> scatter_parts(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, Blocks blocks,
                     CollectiveCall call) {
  std::optional<Preparation> preparation;
  const bool is_on_device = on_device(team, all, mine);
  if (!is_on_device) preparation.emplace(team, name_of(call.called));  // who has any hears of that
  const bool is_root = team.index() == call.root;
  if (is_root) {
    check_blocks(name_of(call.called), blocks, team.size(), all.size());
    check_block(name_of(call.called), blocks, call.root, mine.size());
  }
  const std::vector<MessageSource> list = is_root ? listed(all, blocks) : std::vector<MessageSource>();
  const SourceBlocks parts(list);
  const GivenParts given(parts, team.index());
  if (!is_root || is_given(team, given.bytes()))
    co_return co_await short_collective(is_on_device, team, call,
                                        ScatteredParts{team, parts, MessageTarget(mine), call.root, given});
  const HostParticipation participation(is_on_device, team, call);
  LocalCollective local(team);
  Task<> part = scatter_long(local, team, participation.sequence(), parts, MessageTarget(mine));
  co_await local.run(std::move(part));
}

bool gather_short(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, std::uint32_t root,
                  std::source_location where, RunTask run) {
  const std::size_t bytes = mine.size();
  if (!is_given(team, bytes) || on_device(team, mine, all)) return false;
  const CollectiveCall call{Called::gather, bytes, root, where};
  gather_by_root(team, mine, root, call, run,
                 [all, bytes](std::uint32_t other) { return all.subspan(other * bytes, bytes); });
  return true;
}

bool gather_parts_short(Team& team, std::span<const std::byte> mine, const TargetBlocks& all, std::uint32_t root,
                        std::source_location where, RunTask run) {
  std::size_t largest = mine.size();
  for (std::uint32_t member = 0; member < all.members(); ++member) largest = std::max(largest, all.bytes_of(member));
  if (!is_given(team, largest) || on_device(team, mine) || any_on_device(team, SourceBlocks(), all)) return false;
  const CollectiveCall call{Called::gather_v, CollectiveCall::kAnyBytes, root, where};
  gather_by_root(team, mine, root, call, run, [&all](std::uint32_t other) { return all.of(other).span(); });
  return true;
}

bool scatter_short(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, std::uint32_t root,
                   std::source_location where, RunTask run) {
  if (!is_given(team, team.size() * mine.size()) || on_device(team, all, mine)) return false;
  const CollectiveCall call{Called::scatter, mine.size(), root, where};
  const OthersBlocks blocks = team.index() == root ? OthersBlocks{all, mine.size(), root} : OthersBlocks{};
  short_collective_blocking(false, team, call, ScatteredByRoot{blocks, mine, root}, run);
  return true;
}

bool scatter_parts_short(Team& team, const SourceBlocks& parts, std::span<std::byte> mine, std::uint32_t root,
                         std::source_location where, RunTask run) {
  const GivenParts given(parts, team.index());
  const bool is_plain = team.index() == root ? is_given(team, given.bytes()) : is_given(team, 0);
  if (!is_plain || on_device(team, mine) || any_on_device(team, parts, TargetBlocks())) return false;
  const CollectiveCall call{Called::scatter_v, CollectiveCall::kAnyBytes, root, where};
  short_collective_blocking(false, team, call, ScatteredParts{team, parts, MessageTarget(mine), root, given}, run);
  return true;
}

}  // namespace coracle::internals
