// all_to_all of blocks whose sizes differ, or that are scattered, on a team's only node: each member gives what is
// short at once, and of the rest says how it comes (LocalParts).
#include <algorithm>
#include <vector>

#include "collectives/blocking.hpp"
#include "collectives/choice/lanes.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/exchanges.hpp"
#include "collectives/node/exchanged_pieces.hpp"
#include "collectives/node/short_collective.hpp"
#include "collectives/parts/local_parts.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/rank/memory_domain.hpp"

namespace coracle::internals {
namespace {

/// Whether a member of two hands its part over; the other one's may come another way.
bool is_handed(Team& team, const GivenParts& parts) {
  return parts.are_plain_of_two() && within::hands(team, parts.bytes());
}

/// Whether a member whose parts take so many bytes gives them.
bool is_short(Team& team, const GivenParts& parts) {
  if (is_handed(team, parts)) return true;
  if (within::reaches(team)) return exchanges_at_once(team, parts.bytes());
  return parts.bytes() <= within::given_bytes_max(team);  // else by the kernel, or by messages
}

/// In the order in which those send whose parts go by messages (exchange_by_messages): they wait for each step.
Task<> take_in_steps(LocalCollective& local, const LocalParts& way, const TargetBlocks& targets) {
  for (std::uint32_t step = 1; step < local.count(); ++step) {
    const std::uint32_t other = (local.local_index() + local.count() - step) % local.count();
    co_await way.take(other, targets.of(other));
  }
}

/// Of a member whose own parts are short.
struct ShortParts {
  static constexpr bool kAwaitsAll = true;

  Team& team;
  const SourceBlocks& sources;
  const TargetBlocks& targets;
  GivenParts parts;

  void check(const Team& of) const { check_members(of, sources, targets); }
  bool gives(LocalCollective& /*local*/) const noexcept { return true; }
  const GivenParts& given() const noexcept { return parts; }
  bool take(LocalCollective& local) const {
    for (std::uint32_t other = 0; other < local.count(); ++other) {
      if (other == local.local_index()) continue;
      local.round().check(other);
      if (LocalParts::way_of(local.round(), other) != PartsWay::given) return false;
    }
    copy_own_part(sources, team.index(), targets.of(team.index()));
    for (std::uint32_t other = 0; other < local.count(); ++other)
      if (other != local.local_index() && !LocalParts::try_take(local, other, targets.of(other))) return false;
    return true;
  }
  Task<> take_in_time(LocalCollective& local, std::uint64_t sequence) const {
    Task<> rest = take_each(local, sequence);
    return local.run(std::move(rest));
  }

 private:
  Task<> take_each(LocalCollective& local, std::uint64_t sequence) const {
    const LocalParts way(team, local, sequence);
    copy_own_part(sources, team.index(), targets.of(team.index()));
    co_await take_in_steps(local, way, targets);
    local.round().publish(2);  // for those who wait for that
  }
};

/// Whoever has come is served before those who have not.
Task<> take_from_all(LocalCollective& local, const LocalParts& way, const TargetBlocks& targets, Copying how) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t distance = 1; distance < local.count(); ++distance)
    missing.push_back((local.local_index() + distance) % local.count());
  while (!missing.empty()) {
    co_await local.wait(missing.front(), 1);
    std::size_t left = 0;
    for (const std::uint32_t other : missing) {
      if (local.round().has_reached(other, 1))
        co_await way.take(other, targets.of(other), how);
      else
        missing[left++] = other;
    }
    missing.resize(left);
  }
}

/// Every `lanes`-th pair: what this member sends goes by messages. All members take what comes so in the order of the
/// steps: of those that are not over, the earliest always goes on.
Task<> exchange_by_messages(LocalCollective& local, const LocalParts& way, const SourceBlocks& sources,
                            const TargetBlocks& targets, std::uint32_t first, std::uint32_t lanes) {
  const std::uint32_t size = local.count();
  for (std::uint32_t step = first; step < size; step += lanes) {
    const std::uint32_t to = (local.local_index() + step) % size;
    const std::uint32_t from = (local.local_index() + size - step) % size;
    Task<> sending = way.send(to, sources.of(to));
    Task<> taking = way.take(from, targets.of(from));
    co_await when_all(std::move(sending), std::move(taking));
  }
}

/// Whether two members exchange their parts piece by piece: where memory is reached they go straight from layout to
/// layout.
bool suits_pieces(Team& team, const SourceBlocks& sources, const TargetBlocks& targets) {
  if (team.size() != 2 || within::reaches(team)) return false;
  const std::uint32_t other = 1 - team.index();
  return ExchangedPieces::suits(team, sources.bytes_of(other), targets.bytes_of(other), 1);
}

/// Of a member whose own parts are long.
Task<> exchange_long(LocalCollective& local, Team& team, std::uint64_t sequence, const SourceBlocks& sources,
                     const TargetBlocks& targets) {
  constexpr std::uint32_t kPairs = 4;  // at work at a time: the next one's request is under way while data comes
  if (suits_pieces(team, sources, targets)) {
    const std::uint32_t other = 1 - team.index();
    co_await within::exchange_bytes(team, local, sources.of(other), targets.of(other));
    co_return copy_own_part(sources, team.index(), targets.of(team.index()));
  }
  LocalParts way(team, local, sequence);
  const bool is_awaited = is_awaiting(way.say(sources));
  copy_own_part(sources, team.index(), targets.of(team.index()));
  if (!is_awaited) {
    const std::uint32_t lanes = std::min(kPairs, local.count() - 1);
    co_await between::in_lanes(
        lanes, [&](std::uint32_t lane) { return exchange_by_messages(local, way, sources, targets, lane + 1, lanes); });
    local.round().publish(2);  // of others some may wait for that
    co_return;
  }
  if (!within::reaches(team)) {
    co_await take_in_steps(local, way, targets);
    co_return co_await local.meet(2);
  }
  const std::size_t bytes = sources.bytes_of_all_but(team.size());
  co_await take_from_all(local, way, targets, within::copying_of(local, bytes));
  co_await local.meet(2);
}

Task<> long_parts(Team& team, bool is_on_device, CollectiveCall call, const SourceBlocks& sources,
                  const TargetBlocks& targets) {
  const HostParticipation participation(is_on_device, team, call);
  check_members(team, sources, targets);
  LocalCollective local(team);
  Task<> part = exchange_long(local, team, participation.sequence(), sources, targets);
  co_await local.run(std::move(part));
}

template <class Byte>
bool any_on_device(const MemoryDomain& devices, const MemberBlocks<Byte>& blocks) {
  for (std::uint32_t member = 0; member < blocks.members(); ++member)
    if (blocks.bytes_of(member) > 0 && devices.covers(blocks.of(member).lowest())) return true;
  return false;
}

}  // namespace

void check_members(const Team& team, const SourceBlocks& sources, const TargetBlocks& targets) {
  CORACLE_ASSERT(sources.members() == team.size() && targets.members() == team.size(),
                 "all_to_all: {} sources and {} targets for {} members", sources.members(), targets.members(),
                 team.size());
  const std::uint32_t own = team.index();
  CORACLE_ASSERT(sources.bytes_of(own) == targets.bytes_of(own),
                 "all_to_all: member {} sends itself a block of {} bytes, into one of {} bytes", own,
                 sources.bytes_of(own), targets.bytes_of(own));
}

bool any_on_device(const Team& team, const SourceBlocks& sources, const TargetBlocks& targets) {
  const MemoryDomain* devices = team.rank().core().device_memory();
  return devices != nullptr && (any_on_device(*devices, sources) || any_on_device(*devices, targets));
}

Task<> all_to_all_parts(Team& team, const SourceBlocks& sources, const TargetBlocks& targets,
                        const CollectiveCall& call) {
  const bool is_on_device = any_on_device(team, sources, targets);
  const GivenParts parts(sources, team.index());
  const bool gives = sources.alike() ? is_handed(team, parts) : is_short(team, parts);
  if (!gives) return long_parts(team, is_on_device, call, sources, targets);
  return short_collective(is_on_device, team, call, ShortParts{team, sources, targets, parts});
}

bool all_to_all_parts_short(Team& team, const SourceBlocks& sources, const TargetBlocks& targets,
                            std::source_location where, RunTask run) {
  const GivenParts parts(sources, team.index());
  if (team.nodes().count() > 1 || !is_short(team, parts) || any_on_device(team, sources, targets)) return false;
  const CollectiveCall call{Called::all_to_all_v, CollectiveCall::kAnyBytes, CollectiveCall::kNoRoot, where};
  short_collective_blocking(false, team, call, ShortParts{team, sources, targets, parts}, run);
  return true;
}

}  // namespace coracle::internals
