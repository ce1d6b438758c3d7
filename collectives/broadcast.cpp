// Broadcast in two levels: over the nodes, through the rank that leads each, and within each node. What is short goes
// ahead without asking; what is long is taken from where it lies.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <optional>
#include <vector>

#include "collectives/between/between.hpp"
#include "collectives/blocking.hpp"
#include "collectives/broadcast/broadcast_between.hpp"
#include "collectives/broadcast/broadcast_schedule.hpp"
#include "collectives/broadcast/broadcast_within.hpp"
#include "collectives/choice/tuning.hpp"
#include "collectives/collectives.hpp"
#include "collectives/data/arguments.hpp"
#include "collectives/node/local_collective.hpp"
#include "collectives/node/short_collective.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"
#include "runtime/team/phase.hpp"

namespace coracle::internals {
namespace {

// On one node: shorter ones are copied twice, through the arena, so that nobody has to wait for anybody. Where every
// rank has a core waiting costs less, but lines that the root has just written, and the others have read before, come
// one after the other then, to and fro: 8 KiB just computed take 1.4 us given and 1.8 in place, and 5.0 and 6.4 where
// they share no cache (a barrier behind each included). What nobody writes between two broadcasts is the quicker in
// place from 4 KiB on. Where ranks share cores waiting costs turns of all others.
std::size_t contributed_bytes_max(const Team& team, const NodeArea& node_area) noexcept {
  constexpr std::size_t kBytes = 8 * 1024;
  constexpr std::size_t kBytesCrowded = 16 * 1024;
  constexpr std::size_t kBytesVeryCrowded = 1024 * 1024;
  constexpr std::uint32_t kVeryCrowded = 6;
  const std::size_t wanted = team.rank().loop().spins()              ? kBytes
                             : node_area.local_size() < kVeryCrowded ? kBytesCrowded
                                                                     : kBytesVeryCrowded;
  return std::min<std::size_t>(wanted, node_area.room_bytes_max());
}

void check_call(const Team& team, std::uint32_t root) {
  team.core().check_whole("broadcast");
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
}

/// The place of who leads where the root is not. Of many ranks only some compete; the others wait until one of these
/// has come.
Task<std::uint32_t> find_leader(const Broadcast& broadcast, Round& round) {
  if (broadcast.choice.method != BroadcastMethod::competitive) co_return 0;
  const bool all_compete = round.local_size() <= kCompetitorsMax;
  if (!all_compete && round.local_index() >= kCompetitorsMax) {
    if (!round.has_decided(1)) co_await round.decided(1);
    co_return static_cast<std::uint32_t>(round.decision() - 1);
  }
  const std::uint32_t leader = round.elect();
  if (!all_compete && leader == round.local_index()) round.decide(leader + 1);
  co_return leader;
}

/// The part of a leader or a local member, once it is known which.
Task<> take_part(const Broadcast& broadcast, BroadcastWithin& within, const BroadcastSchedule& schedule) {
  Round& round = within.round();
  if (!round.is_open()) co_await round.open();
  std::uint32_t leader = broadcast.team.nodes().local_index_of(broadcast.root);
  if (!broadcast.on_root_node()) leader = co_await find_leader(broadcast, round);
  const bool leads = leader == round.local_index();
  const Phase phase(broadcast.team, broadcast.sequence, leads ? "lead" : "follow", round.node_area().rank_at(leader));
  if (!leads) co_return co_await within.follow(leader);
  BroadcastBetween between(broadcast, schedule, within);
  co_await between.lead();
  co_await within.hand_over();
}

/// More than one only where local members copy from each other, or through a window.
std::vector<BroadcastSchedule::Piece> pieces_on_node(const Team& team, std::size_t bytes,
                                                     const BroadcastChoice& choice) {
  const bool at_once = choice.fan_out + 1 >= team.size() && team.rank().placement() != Placement::process;
  const std::size_t chunk = at_once ? bytes : std::min(choice.chunk_bytes, bytes);
  std::vector<BroadcastSchedule::Piece> pieces;
  pieces.reserve((bytes + chunk - 1) / chunk);
  for (std::size_t begin = 0; begin < bytes; begin += chunk) pieces.push_back({begin, std::min(chunk, bytes - begin)});
  return pieces;
}

Task<> lead_on_node(BroadcastWithin& within, std::span<const BroadcastSchedule::Piece> pieces, StagedData* staged) {
  co_await within.begin_leading();
  for (std::uint32_t piece = 0; staged != nullptr && piece < pieces.size(); ++piece) {
    co_await staged->load(pieces[piece].offset, pieces[piece].bytes);
    co_await within.publish(piece + 1);
  }
  if (staged == nullptr) co_await within.publish(static_cast<std::uint32_t>(pieces.size()));
  co_await within.hand_over();
}

/// When it fails, nobody reads any more what this member exposes when the error is rethrown.
Task<> broadcast_long(const Broadcast& broadcast) {
  Team& team = broadcast.team;
  const BroadcastSchedule schedule =
      make_broadcast_schedule(broadcast.choice.tree, team.nodes().count(), broadcast.own_node(), broadcast.data.size(),
                              broadcast.choice.chunk_bytes);
  const Readiness::Activity activity(team, broadcast.sequence);
  BroadcastWithin within(team.rank(), team.node_area(), broadcast.data, schedule.pieces, broadcast.choice.fan_out,
                         broadcast.staged);
  const std::exception_ptr failure = co_await caught(take_part(broadcast, within, schedule));
  if (!failure) co_return;
  co_await within.withdraw();
  std::rethrow_exception(failure);
}

/// Fills in what is automatic in `wanted`. The same at every member.
BroadcastChoice choose(const Team& team, std::size_t bytes, const BroadcastChoice& wanted) {
  const std::uint32_t nodes = team.nodes().count();
  if (wanted.tree == BroadcastTree::recursive_doubling && !std::has_single_bit(nodes))
    throw Error(Errc::bad_input, fmt::format("broadcast: recursive doubling needs a power of two of nodes, and the "
                                             "team has {}; ask for the ring or the binomial tree",
                                             nodes));
  BroadcastChoice choice = team.rank().local<Tuning>().broadcast(team.nodes(), bytes, wanted);
  if (choice.method == BroadcastMethod::plain) choice.chunk_bytes = std::max<std::size_t>(bytes, 1);
  return choice;
}

/// Short data, within a node: the root gives it, and goes on.
struct GivenByRoot {
  static constexpr bool kAwaitsAll = false;

  std::span<std::byte> data;
  std::uint32_t root;

  bool gives(LocalCollective& local) const noexcept { return local.local_index() == root; }
  std::span<const std::byte> given() const noexcept { return data; }
  bool awaits(LocalCollective& local, std::uint32_t other) const noexcept { return other == root && !gives(local); }
  bool take(LocalCollective& local) const { return gives(local) || local.try_take(root, data); }
  Task<> take_in_time(LocalCollective& local, std::uint64_t /*sequence*/) const { return local.take(root, 0, data); }
};

Task<> broadcast_short_on_node(Team& team, std::span<std::byte> data, std::uint32_t root, StagedData* staged,
                               CollectiveCall call) {
  ShortCollective<GivenByRoot> collective(false, team, call, {data, root});
  if (staged != nullptr && team.index() == root) co_await staged->load_all();
  if (!collective.try_finish()) co_await collective.finish();
}

Task<> broadcast_long_on_node(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice wanted,
                              StagedData* staged, CollectiveCall call) {
  check_call(team, root);
  const Participation part(team, call);
  const BroadcastChoice choice = choose(team, data.size(), wanted);
  const std::vector<BroadcastSchedule::Piece> pieces = pieces_on_node(team, data.size(), choice);
  BroadcastWithin within(team.rank(), team.node_area(), data, pieces, choice.fan_out, staged);
  std::exception_ptr failure;
  try {
    if (!within.round().is_open()) co_await within.round().open();
    const bool leads = within.round().local_index() == root;
    const Phase phase(team, part.sequence(), leads ? "lead" : "follow", team.member(root));
    if (leads)
      co_await lead_on_node(within, pieces, staged);
    else
      co_await within.follow(root);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  co_await within.withdraw();
  std::rethrow_exception(failure);
}

/// Short data goes by messages along a tree between the fixed leaders.
Task<> broadcast_over_nodes(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice wanted,
                            StagedData* staged, CollectiveCall call) {
  check_call(team, root);
  if (team.size() == 1) co_return;
  const TeamNodes& nodes = team.nodes();
  const Participation part(team, call);
  const Broadcast broadcast{team, part.sequence(), root, data, choose(team, data.size(), wanted), staged};
  if (!is_short_broadcast(nodes.count(), data.size(), broadcast.choice)) co_return co_await broadcast_long(broadcast);
  const std::uint32_t leader = broadcast.on_root_node() ? nodes.local_index_of(root) : 0;
  LocalCollective local(team);
  if (!local.round().is_open()) co_await local.round().open();
  if (staged != nullptr && team.index() == root) co_await staged->load_all();
  if (local.local_index() != leader) {
    co_await local.round().reached(leader, 1);
    if (!local.try_take(leader, data)) co_await local.take(leader, 0, data);
    co_return;
  }
  co_await Group::of_nodes(team, part.sequence(), root)
      .in_phase("between nodes",
                between::broadcast(Group::of_nodes(team, part.sequence(), root), data, nodes.node_of(root)));
  if (local.count() > 1) co_await local.give(data);
}

/// The same at every member.
bool is_short_on_node(Team& team, std::size_t bytes) noexcept {
  return team.nodes().count() == 1 && team.size() > 1 && bytes <= contributed_bytes_max(team, team.node_area());
}

Task<> broadcast_host(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice,
                      StagedData* staged, std::source_location where) {
  const CollectiveCall call{Called::broadcast, data.size(), root, where};
  if (team.nodes().count() != 1 || team.size() == 1)
    return broadcast_over_nodes(team, data, root, choice, staged, call);
  if (is_short_on_node(team, data.size())) return broadcast_short_on_node(team, data, root, staged, call);
  return broadcast_long_on_node(team, data, root, choice, staged, call);
}

/// A member whose GPU fails as it gets the data has done its part for the others all the same; only a root can't.
Task<> broadcast_device(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice,
                        std::source_location where) {
  check_call(team, root);
  PromiseBase& self = co_await this_coroutine();
  Scope landings(self.loop(), &self.scope());
  std::optional<StagedData> staged;
  std::exception_ptr failure;
  try {
    staged.emplace(team, data, landings);
    co_await broadcast_host(team, staged->host(), root, choice, &*staged, where);
    if (team.index() != root) staged->all_arrived();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!staged) team.core().give_up();  // there was no memory for it
  const std::exception_ptr landed = co_await join_quietly(landings);
  if (!failure) failure = landed;
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

Task<> broadcast_bytes(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice,
                       std::source_location where) {
  return on_device(team, data) ? broadcast_device(team, data, root, choice, where)
                               : broadcast_host(team, data, root, choice, nullptr, where);
}

void broadcast_blocking(Team& team, std::span<std::byte> data, std::uint32_t root, std::source_location where,
                        RunTask run) {
  if (!is_short_on_node(team, data.size()) || on_device(team, data))
    return run(broadcast_bytes(team, data, root, {}, where));
  const CollectiveCall call{Called::broadcast, data.size(), root, where};
  short_collective_blocking(false, team, call, GivenByRoot{data, root}, run);
}

}  // namespace coracle::internals
