// NewTeam: how a team is made. Each member takes memory for it first and tells the others where that lies, with
// whatever it tells them anyway; so nothing has to be agreed that two teams in the making could both want.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

#include "runtime/core/task.hpp"
#include "runtime/job/slab.hpp"

namespace coracle::internals {

class Rank;
class Team;
class TeamCore;

/// What a member tells the others of a team that is to be made.
struct TeamProposal {
  static constexpr std::uint64_t kNoRoom = ~std::uint64_t{0};

  std::uint64_t offset = kNoRoom;  ///< Of its memory for the team, in its segment.
  std::uint32_t identity = 0;      ///< Of the team, where this member is its first.
  std::uint32_t arena_bytes = 0;   ///< Of the arena in that memory.
};

/// A member's part in making one team. Any number may be in the making at once. Its rank's thread only.
class NewTeam {
 public:
  /// Takes memory for the team from the rank's segment, if there is some.
  explicit NewTeam(Rank& rank);
  /// If no team was made, others may have made theirs, and reach for the memory: it stays until the rank ends.
  ~NewTeam();
  NewTeam(const NewTeam&) = delete;
  NewTeam& operator=(const NewTeam&) = delete;

  const TeamProposal& proposal() const noexcept { return proposal_; }
  /// Makes the team; returns when all members have. `members`: ranks, in the team's order, with the proposals of each;
  /// the same at all. Throws Error (no_buffer_space), at all of them, when a member had no room. What fails later, and
  /// the end of `parent` meanwhile, breaks the new team and `parent`, of which all members are members.
  Task<std::unique_ptr<Team>> make(std::vector<std::uint32_t> members, std::vector<TeamProposal> proposals,
                                   TeamCore& parent, std::source_location where = std::source_location::current());
  /// A team of `rank` alone, which needs nobody's consent. Throws Error (no_buffer_space).
  static std::unique_ptr<Team> of_one(Rank& rank);

 private:
  /// Throws Error (no_buffer_space) when a member has no room; then nobody makes the team.
  void check_room(std::span<const std::uint32_t> members, std::span<const TeamProposal> proposals);
  std::unique_ptr<Team> make_own(std::vector<std::uint32_t> members, std::span<const TeamProposal> proposals);

  Rank& rank_;
  Slab<std::byte> memory_;
  TeamProposal proposal_;
};

}  // namespace coracle::internals
