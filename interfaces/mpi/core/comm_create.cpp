// New communicators out of others.
#include <memory>
#include <utility>
#include <vector>

#include "interfaces/mpi/core/call_notes.hpp"
#include "interfaces/mpi/core/comm_create.hpp"
#include "interfaces/mpi/core/request.hpp"
#include "interfaces/mpi/core/world.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "runtime/team/team.hpp"

namespace coracle::mpi {
namespace {

using internals::Task;
using internals::Team;

constexpr int kNoColor = kUndefined;

Comm* comm_of(std::unique_ptr<Team> team, const Comm& parent) {
  std::vector<std::uint32_t> members(team->size());
  for (std::uint32_t i = 0; i < team->size(); ++i) members[i] = team->member(i);
  return new Comm(std::move(team), Ref<Group>::adopt(new Group(std::move(members))), parent.error_handler);
}

/// What a duplicate takes over beside its members. Throws what an attribute's function has returned.
void take_over(Comm& copy, const Comm& comm) {
  if (comm.topology) copy.topology = std::make_unique<Topology>(*comm.topology);
  if (comm.info) copy.info = Ref<Info>::adopt(comm.info->duplicate());
  try {
    copy.attributes.copy_from(const_cast<Comm&>(comm), comm.attributes);
  } catch (...) {
    copy.attributes.remove_all(copy);
    throw;
  }
}

Comm* pending_copy(const Comm& comm) {
  Comm* const copy = new Comm(comm.rank(), comm.shared_group(), comm.error_handler);
  if (comm.is_inter()) copy->set_remote({comm.shared_remote_group(), comm.first_peer(), {}});
  return copy;
}

Task<> give_team(Ref<Comm> comm, Ref<Comm> copy) {
  std::unique_ptr<Team> team = co_await split_team(comm->team(), 0, comm->rank());
  copy->set_team(std::move(team));
}

Task<> give_teams(Ref<Comm> comm, Ref<Comm> copy) {
  give_sides(*copy, co_await duplicate_sides(comm));
}

/// Makes what the copy needs to be used.
Task<> complete(Ref<Comm> comm, Ref<Comm> copy) {
  const bool is_inter = comm->is_inter();
  return is_inter ? give_teams(std::move(comm), std::move(copy)) : give_team(std::move(comm), std::move(copy));
}

void check_group(const Comm& comm, const Group* group) {
  if (group == nullptr) raise(ErrorClass::group, "group is MPI_GROUP_NULL");
  for (const std::uint32_t member : group->members())
    if (comm.group().place_of(member) == kUndefined)
      raise(ErrorClass::group, "the group has a member, rank {} of MPI_COMM_WORLD, that is not in the communicator",
            member);
}

}  // namespace

Task<std::unique_ptr<Team>> split_team(Team& team, int color, int key) {
  // Keys are signed, and the team's are not: their order stays.
  const auto ordered = static_cast<std::uint32_t>(key) ^ 0x80000000U;
  return team.split(color == kNoColor ? Team::kNoTeam : static_cast<std::uint32_t>(color), ordered);
}

Comm* split_comm(Comm& comm, int color, int key) {
  if (comm.is_inter()) return split_inter(comm, color, key);
  Task<std::unique_ptr<Team>> splitting = split_team(comm.team(), color, key);
  std::unique_ptr<Team> team = World::get().wait<CollectiveNote>(splitting, comm);
  return team ? comm_of(std::move(team), comm) : nullptr;
}

Comm* merge_sides(Comm& comm, bool high) {
  // Where both sides say the same, they stay in their order.
  Task<std::unique_ptr<Team>> merging = split_team(comm.team(), 0, high ? 1 : 0);
  return comm_of(World::get().wait<CollectiveNote>(merging, comm), comm);
}

void comm_split(Comm* comm, int color, int key, Comm*& newcomm) {
  Comm& parent = checked(comm);
  if (color < 0 && color != kUndefined)
    raise(ErrorClass::arg, "color is {}: a color is 0 or more, or MPI_UNDEFINED", color);
  newcomm = split_comm(parent, color, key);
}

void comm_split_type(Comm* comm, int split_type, int key, Info*, Comm*& newcomm) {
  Comm& parent = checked(comm);
  if (split_type != kCommTypeShared && split_type != kUndefined)
    raise(ErrorClass::arg, "split_type {} is not known: MPI_COMM_TYPE_SHARED and MPI_UNDEFINED are", split_type);
  const int node = static_cast<int>(World::get().rank().node());
  newcomm = split_comm(parent, split_type == kUndefined ? kUndefined : node, key);
}

void comm_dup(Comm* comm, Comm*& newcomm) {
  Comm& parent = checked(comm);
  auto copy = Ref<Comm>::adopt(pending_copy(parent));
  take_over(*copy, parent);
  run(parent, complete(Ref<Comm>(&parent), copy));
  newcomm = copy.give();
}

void comm_dup_with_info(Comm* comm, Info* info, Comm*& newcomm) {
  comm_dup(comm, newcomm);
  newcomm->info = {};  // `info` stands in place of what `comm` has
  comm_set_info(newcomm, info);
}

void comm_idup(Comm* comm, Comm*& newcomm, Request*& request) {
  Comm& parent = checked(comm);
  auto copy = Ref<Comm>::adopt(pending_copy(parent));
  take_over(*copy, parent);
  request = start_task(parent, complete(Ref<Comm>(&parent), copy));
  newcomm = copy.give();
}

void comm_create(Comm* comm, Group* group, Comm*& newcomm) {
  Comm& parent = checked(comm);
  check_group(parent, group);
  const int place = group->place_of(World::get().rank().id());
  // Of several groups in one call, which have no member in common, each is known by its first.
  if (place == kUndefined)
    newcomm = split_comm(parent, kNoColor, 0);
  else if (parent.is_inter())  // a group for each side
    newcomm = split_comm(parent, 0, place);
  else
    newcomm = split_comm(parent, parent.group().place_of(group->member(0)), place);
}

void comm_create_group(Comm* comm, Group* group, int tag, Comm*& newcomm) {
  Comm& parent = checked_intra(comm);
  check_group(parent, group);
  if (tag < 0) raise(ErrorClass::tag, "tag is {}: a tag is from 0 to {}", tag, kTagMax);
  newcomm = nullptr;
  if (group->place_of(World::get().rank().id()) == kUndefined) return;
  Task<std::shared_ptr<Team>> making =
      make_team_of(Ref<Comm>(&parent), Ref<Group>(group), kCreateGroupTags + static_cast<std::uint64_t>(tag));
  std::shared_ptr<Team> team = World::get().wait<CollectiveNote>(making, parent);
  newcomm = new Comm(std::move(team), Ref<Group>::adopt(new Group(group->members())), parent.error_handler);
}

}  // namespace coracle::mpi
