// Inter-communicators: how they are made, divided and merged.
#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collectives/collectives.hpp"
#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/comm_create.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "runtime/core/combinators.hpp"

namespace coracle::mpi {
namespace {

using internals::MessageSource;
using internals::MessageTarget;
using internals::Task;
using internals::Team;

using Members = std::vector<std::uint32_t>;  // ranks in MPI_COMM_WORLD

template <class T>
Task<> exchange_with(Comm& bridge, int peer, std::uint64_t tag, std::span<const T> told, std::span<T> learned) {
  co_await internals::when_all(bridge.send_internal(MessageSource(std::as_bytes(told)), peer, tag),
                               bridge.receive_internal(MessageTarget(std::as_writable_bytes(learned)), peer, tag));
}

/// Of a leader: the members of the other side.
Task<Members> meet(Ref<Comm> bridge, int peer, std::uint64_t tag, Ref<Group> group) {
  const std::uint64_t own_size = group->members().size();
  std::uint64_t size = 0;
  co_await exchange_with(*bridge, peer, tag, std::span(&own_size, 1), std::span(&size, 1));
  Members others(size);
  co_await exchange_with(*bridge, peer, tag, std::span<const std::uint32_t>(group->members()), std::span(others));
  co_return others;
}

/// What a leader has learned is told to all of its side.
Task<Members> learn(Ref<Comm> local, int leader, Members others) {
  std::uint64_t size = others.size();
  const auto root = static_cast<std::uint32_t>(leader);
  co_await local->team().broadcast(std::span(&size, 1), root);
  others.resize(size);
  co_await local->team().broadcast(std::span(others), root);
  co_return others;
}

Comm* inter_comm_of(SidesTeams teams, const Ref<ErrorHandler>& handler) {
  const auto rank = static_cast<int>(teams.local->index());
  Members members(teams.local->size());
  for (std::uint32_t i = 0; i < teams.local->size(); ++i) members[i] = teams.local->member(i);
  auto made = Ref<Comm>::adopt(new Comm(rank, Ref<Group>::adopt(new Group(std::move(members))), handler));
  give_sides(*made, std::move(teams));
  return made.give();
}

/// Both sides do the same: whose first member is lower in MPI_COMM_WORLD comes first.
Task<SidesTeams> make_sides(Ref<Comm> local, Members others, int tag) {
  const Members& own = local->group().members();
  const bool is_first = own.front() < others.front();
  Members all = is_first ? own : others;
  const Members& behind = is_first ? others : own;
  all.insert(all.end(), behind.begin(), behind.end());
  SidesTeams teams;
  teams.local = co_await split_team(local->team(), 0, local->rank());
  teams.both =
      co_await make_team_of(Ref<Comm>(&World::get().comm_world()), Ref<Group>::adopt(new Group(std::move(all))),
                            kSidesTags + static_cast<std::uint64_t>(tag));
  co_return teams;
}

Task<Members> members_of_other_side(Ref<Comm> local, int leader, Ref<Comm> bridge, int remote_leader, int tag) {
  Members others;
  if (local->rank() == leader)
    others = co_await meet(std::move(bridge), remote_leader, kLeadersTags + static_cast<std::uint64_t>(tag),
                           local->shared_group());
  co_return co_await learn(local, leader, std::move(others));
}

void check_disjoint(const Group& own, const Members& others) {
  const std::unordered_set<std::uint32_t> there(others.begin(), others.end());
  for (const std::uint32_t member : own.members())
    if (there.contains(member))
      raise(ErrorClass::comm,
            "the groups have a member in common, rank {} of MPI_COMM_WORLD: no process may be on both sides", member);
}

}  // namespace

Task<SidesTeams> duplicate_sides(Ref<Comm> comm) {
  const Comm& local = comm->local();
  auto [own, both] = co_await internals::when_all(split_team(local.team(), 0, local.rank()),
                                                  split_team(comm->team(), 0, static_cast<int>(comm->team().index())));
  co_return SidesTeams{std::move(both), std::move(own)};
}

Task<SidesTeams> split_sides(Ref<Comm> comm, int color, int key) {
  Comm& local = comm->local();
  SidesTeams teams;
  teams.local = co_await split_team(local.team(), color, key);
  const bool is_behind = comm->first_peer() == 0;
  const int place = teams.local ? static_cast<int>(teams.local->index()) : 0;
  // One side behind the other, each in the order that it has just found.
  teams.both =
      co_await split_team(comm->team(), color, is_behind ? place : place - static_cast<int>(comm->team().size()));
  co_return teams;
}

void give_sides(Comm& comm, SidesTeams teams) {
  Members others;
  const Team& both = *teams.both;
  const std::uint32_t own = teams.local->size();
  const bool is_first = both.member(0) == teams.local->member(0);
  const std::uint32_t first = is_first ? own : 0;
  for (std::uint32_t i = 0; i < both.size() - own; ++i) others.push_back(both.member(first + i));
  auto local = Ref<Comm>::adopt(new Comm(std::move(teams.local), comm.shared_group(), comm.error_handler));
  comm.set_remote({Ref<Group>::adopt(new Group(std::move(others))), static_cast<int>(first), std::move(local)});
  comm.set_team(std::move(teams.both));
}

Comm* split_inter(Comm& comm, int color, int key) {
  Task<SidesTeams> splitting = split_sides(Ref<Comm>(&comm), color, key);
  SidesTeams teams = World::get().wait<CollectiveNote>(splitting, comm);
  const bool is_one_sided = teams.both == nullptr || teams.both->size() == teams.local->size();
  return is_one_sided ? nullptr : inter_comm_of(std::move(teams), comm.error_handler);
}

void intercomm_create(Comm* local_comm, int local_leader, Comm* bridge_comm, int remote_leader, int tag,
                      Comm*& newintercomm) {
  Comm& local = checked_intra(local_comm);
  local.check_member(local_leader, "local_leader");
  if (tag < 0) raise(ErrorClass::tag, "tag is {}: a tag is from 0 to {}", tag, kTagMax);
  Ref<Comm> bridge;
  if (local.rank() == local_leader) {
    if (bridge_comm == nullptr) raise(ErrorClass::comm, "peer_comm is MPI_COMM_NULL, at the leader");
    bridge = Ref<Comm>(bridge_comm);
    bridge->check_member(remote_leader, "remote_leader");
  }
  Task<Members> learning = members_of_other_side(Ref<Comm>(&local), local_leader, bridge, remote_leader, tag);
  const Members others = World::get().wait<CollectiveNote>(learning, local);
  check_disjoint(local.group(), others);
  Task<SidesTeams> making = make_sides(Ref<Comm>(&local), others, tag);
  newintercomm = inter_comm_of(World::get().wait<CollectiveNote>(making, local), local.error_handler);
}

void intercomm_merge(Comm* intercomm, bool high, Comm*& newintracomm) {
  Comm& comm = checked(intercomm);
  if (!comm.is_inter()) raise(ErrorClass::comm, "intercomm is an intra-communicator: there is nothing to merge");
  newintracomm = merge_sides(comm, high);
}

}  // namespace coracle::mpi
