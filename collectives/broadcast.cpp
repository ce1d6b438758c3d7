// Broadcast in two levels: over the nodes, through the rank that leads each, and within each node. What is short goes
// ahead without asking; what is long is taken from where it lies.
#include "collectives/broadcast.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include "collectives/broadcast/broadcast_between.hpp"
#include "collectives/broadcast/broadcast_rules.hpp"
#include "collectives/broadcast/broadcast_schedule.hpp"
#include "collectives/broadcast/broadcast_within.hpp"
#include "collectives/choice/broadcast_model.hpp"
#include "collectives/data/host_memory.hpp"
#include "collectives/data/sizes.hpp"
#include "collectives/messages/mailbox.hpp"
#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/scope.hpp"

namespace coracle::internals {
namespace {

// On one node: shorter ones are copied twice, through the arena, so that nobody has to wait for anybody. Waiting costs
// little where every rank has a core, and turns of all others where not.
std::size_t contributed_bytes_max(const Team& team, const NodeArea& node_area) noexcept {
  constexpr std::size_t kBytes = 1024;
  constexpr std::size_t kBytesCrowded = 16 * 1024;
  constexpr std::size_t kBytesVeryCrowded = 1024 * 1024;
  constexpr std::uint32_t kVeryCrowded = 6;
  if (team.rank().loop().spins()) return kBytes;
  const std::size_t wanted = node_area.local_size() < kVeryCrowded ? kBytesCrowded : kBytesVeryCrowded;
  return std::min<std::size_t>(wanted, node_area.room_bytes_max());
}

void check_call(const Team& team, std::uint32_t root) {
  team.core().check_whole("broadcast");
  CORACLE_ASSERT(root < team.size(), "root {} of a team of {}", root, team.size());
}

void check_size(Round& round, std::uint32_t leader, std::span<const std::byte> data) {
  round.check(leader);
  const std::size_t there = round.bytes_of(leader);
  if (there != data.size()) throw_sizes_differ(data.size(), there, round.node_area().rank_at(leader));
}

void take_contributed(Round& round, std::uint32_t leader, std::span<std::byte> data) {
  if (!data.empty()) std::memcpy(data.data(), round.contributed(leader).data(), data.size());
}

/// Within a node, of short data: the leader contributes it, or leaves it in its arena, and goes on. Nested coroutines
/// would cost more than what they do, so there are none where copies take no virtual time.
Task<> pass_short(Round& round, std::uint32_t leader, std::span<std::byte> data) {
  const bool whole = data.size() <= Contribution::kInlineBytesMax;
  if (round.local_index() == leader) {
    if (whole) {
      round.contribute(data, 1);
      co_return;
    }
    std::byte* room = round.allocate(data.size());
    if (room == nullptr) room = co_await round.allocate_when_free(data.size());
    if (round.copies_at_once())
      std::memcpy(room, data.data(), data.size());
    else
      co_await round.copy_own(data, room);
    round.expose(room, data.size(), 1);
    co_return;
  }
  co_await round.reached(leader, 1);
  check_size(round, leader, data);
  if (!whole && !round.copies_at_once())
    co_await round.copy(leader, 0, data);
  else
    take_contributed(round, leader, data);
}

/// Between the fixed leaders, of short data: messages along a binomial tree.
Task<> spread_short(const Broadcast& broadcast, Mailbox& mailbox) {
  const Team& team = broadcast.team;
  const auto leader = [&](std::uint32_t node) {
    return node == 0 ? broadcast.root : team.nodes().member(broadcast.of_team(node), 0);
  };
  const std::uint32_t nodes = team.nodes().count();
  const std::uint32_t me = broadcast.own_node();
  const std::uint64_t tag = tag_of(broadcast.sequence, 0);
  std::uint32_t step = 1;
  for (; step < nodes && (me & step) == 0; step *= 2) {
  }
  if (me != 0) co_await mailbox.receive(broadcast.team, leader(me - step), tag, broadcast.data);
  std::vector<Task<>> sends;
  for (step /= 2; step > 0; step /= 2)
    if (me + step < nodes) sends.push_back(mailbox.send(broadcast.team, leader(me + step), tag, broadcast.data));
  if (sends.size() == 1)
    co_await sends.front();
  else if (!sends.empty())
    co_await when_all(std::move(sends));
}

Task<> broadcast_short(const Broadcast& broadcast) {
  Team& team = broadcast.team;
  const TeamNodes& nodes = team.nodes();
  const std::uint32_t leader = broadcast.on_root_node() ? nodes.local_index_of(broadcast.root) : 0;
  Round round(team.node_area());
  if (!round.is_open()) co_await round.open();
  if (broadcast.staged != nullptr && team.index() == broadcast.root) co_await broadcast.staged->load_all();
  const bool leads = round.local_index() == leader;
  if (leads && nodes.count() > 1) co_await spread_short(broadcast, team.rank().local<Mailbox>());
  if (round.local_size() > 1) co_await pass_short(round, leader, broadcast.data);
}

/// The place of who leads here. Of many ranks only some compete; the others wait until one of these has come.
Task<std::uint32_t> find_leader(const Broadcast& broadcast, Round& round) {
  if (broadcast.on_root_node()) co_return broadcast.team.nodes().local_index_of(broadcast.root);
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
  if (!within.round().is_open()) co_await within.round().open();
  const std::uint32_t leader = co_await find_leader(broadcast, within.round());
  if (leader != within.round().local_index()) {
    co_await within.follow(leader);
    co_return;
  }
  BroadcastBetween between(broadcast, schedule, within);
  co_await between.lead();
  co_await within.hand_over();
}

Task<> broadcast_long(const Broadcast& broadcast) {
  Team& team = broadcast.team;
  const BroadcastSchedule schedule =
      make_broadcast_schedule(broadcast.choice.tree, team.nodes().count(), broadcast.own_node(), broadcast.data.size(),
                              broadcast.choice.chunk_bytes);
  Readiness& readiness = team.rank().local<Readiness>();
  BroadcastWithin within(team.rank(), team.node_area(), broadcast.data, schedule.pieces, broadcast.choice.fan_out,
                         broadcast.staged);
  readiness.begin(team, broadcast.sequence);
  std::exception_ptr failure;
  try {
    co_await take_part(broadcast, within, schedule);
  } catch (...) {
    failure = std::current_exception();
  }
  readiness.end(team, broadcast.sequence);
  if (!failure) co_return;
  co_await within.withdraw();
  std::rethrow_exception(failure);
}

/// The two of a team on one node: a member's local index is its index in the team.
Task<> broadcast_short_on_node(Team& team, std::span<std::byte> data, std::uint32_t root, StagedData* staged,
                               std::source_location where) {
  check_call(team, root);
  const Participation part(team, {Called::broadcast, data.size(), root, where});
  Round round(team.node_area());
  if (!round.is_open()) co_await round.open();
  if (staged != nullptr && round.local_index() == root) co_await staged->load_all();
  if (data.size() > Contribution::kInlineBytesMax) {
    co_await pass_short(round, root, data);
  } else if (round.local_index() == root) {
    round.contribute(data, 1);
  } else {
    co_await round.reached(root, 1);
    check_size(round, root, data);
    take_contributed(round, root, data);
  }
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

Task<> broadcast_long_on_node(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice wanted,
                              StagedData* staged, std::source_location where) {
  check_call(team, root);
  const Participation part(team, {Called::broadcast, data.size(), root, where});
  const BroadcastChoice choice = choose_broadcast(team, data.size(), wanted);
  const std::vector<BroadcastSchedule::Piece> pieces = pieces_on_node(team, data.size(), choice);
  BroadcastWithin within(team.rank(), team.node_area(), data, pieces, choice.fan_out, staged);
  std::exception_ptr failure;
  try {
    if (!within.round().is_open()) co_await within.round().open();
    if (within.round().local_index() == root)
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

Task<> broadcast_over_nodes(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice,
                            StagedData* staged, std::source_location where) {
  check_call(team, root);
  if (team.size() == 1) co_return;
  const Participation part(team, {Called::broadcast, data.size(), root, where});
  const BroadcastChoice chosen = choose_broadcast(team, data.size(), choice);
  const Broadcast broadcast{team, part.sequence(), root, data, chosen, staged};
  if (is_short_broadcast(team.nodes().count(), data.size(), chosen))
    co_await broadcast_short(broadcast);
  else
    co_await broadcast_long(broadcast);
}

Task<> broadcast_host(Team& team, std::span<std::byte> data, std::uint32_t root, BroadcastChoice choice,
                      StagedData* staged, std::source_location where) {
  if (team.nodes().count() != 1 || team.size() == 1)
    return broadcast_over_nodes(team, data, root, choice, staged, where);
  if (data.size() <= contributed_bytes_max(team, team.node_area()))
    return broadcast_short_on_node(team, data, root, staged, where);
  return broadcast_long_on_node(team, data, root, choice, staged, where);
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

}  // namespace coracle::internals
