// How communicators are made out of others.
#pragma once

#include <cstdint>
#include <memory>

#include "interfaces/mpi/core/comm.hpp"
#include "runtime/core/task.hpp"
#include "runtime/team/team.hpp"

namespace coracle::mpi {

/// Collective over `comm`. Null with color MPI_UNDEFINED. The new one has nothing of the old but its error handler.
Comm* split_comm(Comm& comm, int color, int key);

/// As the team's split: color MPI_UNDEFINED is kNoTeam; keys may be negative.
internals::Task<std::unique_ptr<internals::Team>> split_team(internals::Team& team, int color, int key);

// Tags of the library's own messages with which communicators are made, apart from each other and from those of
// collectives, which have 32 bits.
inline constexpr std::uint64_t kCreateGroupTags = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kSidesTags = std::uint64_t{2} << 32;
inline constexpr std::uint64_t kLeadersTags = std::uint64_t{3} << 32;

/// A team of the members of `group`, who alone call this, by messages over `comm`. Two at a time need other tags.
internals::Task<std::shared_ptr<internals::Team>> make_team_of(Ref<Comm> comm, Ref<Group> group, std::uint64_t tag);

/// Of an inter-communicator.
struct SidesTeams {
  std::shared_ptr<internals::Team> both;   ///< Each side's members one behind the other. Null: without this member.
  std::shared_ptr<internals::Team> local;  ///< This side's, in the same order.
};

/// Collective over an inter-communicator, whose sides stay as they are. Its collectives begin when this does, in the
/// order in which all call it.
internals::Task<SidesTeams> duplicate_sides(Ref<Comm> comm);
/// Collective over an inter-communicator; nothing else of it may begin meanwhile.
internals::Task<SidesTeams> split_sides(Ref<Comm> comm, int color, int key);
/// What they tell of `comm`, which is made an inter-communicator.
void give_sides(Comm& comm, SidesTeams teams);
/// Of both sides of an inter-communicator; those that are `high` come behind.
Comm* merge_sides(Comm& comm, bool high);
/// As split_comm(), of an inter-communicator. Null also where the other side has nobody of that color.
Comm* split_inter(Comm& comm, int color, int key);

}  // namespace coracle::mpi
