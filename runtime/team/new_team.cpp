// Memory for a new team. How its members meet is a collective (collectives/split.cpp).
#include "runtime/team/new_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/node_area.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {
namespace {

static_assert(sizeof(TeamArea) <= TeamPlan::kPartOffset && TeamPlan::kPartOffset % alignof(NodeAreaPart) == 0);

constexpr std::uint64_t kArenaBytesMin = 8 * 1024;

/// The first teams of a rank get much; of thousands each gets little, since all lie in its segment.
std::uint32_t wanted_arena_bytes(Rank& rank) {
  constexpr std::uint64_t kArenaBytesMax = 1 << 20;
  constexpr std::size_t kTeamsWithMuch = 8;
  const std::size_t shares = std::max<std::size_t>(rank.local<Teams>().all().size() / kTeamsWithMuch, 1);
  const std::uint64_t whole = rank.core().region().shape().segment_bytes / 32;
  const std::uint64_t bytes = std::clamp(std::min(whole, kArenaBytesMax) / shares, kArenaBytesMin, kArenaBytesMax);
  return static_cast<std::uint32_t>(bytes / 64 * 64);
}

/// Empty where there is no room.
Slab<std::byte> allocate_for_team(Rank& rank, std::uint64_t arena_bytes) {
  try {
    Slab<std::byte> memory = rank.core().own_segment().allocate_raw(
        TeamPlan::kPartOffset + NodeAreaPart::bytes_for(arena_bytes), alignof(NodeAreaPart));
    std::memset(memory.data(), 0, TeamPlan::kPartOffset + sizeof(NodeAreaPart));
    return memory;
  } catch (const Error& error) {
    if (error.code() != Errc::segment_full) throw;
    return {};
  }
}

}  // namespace

NewTeam::NewTeam(Rank& rank) : rank_(rank) {
  rank.local<Teams>().sweep();
  proposal_.arena_bytes = wanted_arena_bytes(rank);
  memory_ = allocate_for_team(rank, proposal_.arena_bytes);
  if (memory_.data() == nullptr) {
    proposal_.arena_bytes = kArenaBytesMin;
    memory_ = allocate_for_team(rank, kArenaBytesMin);
  }
  if (memory_.data() != nullptr) proposal_.offset = memory_.remote().address().offset;
  proposal_.identity = rank.local<Teams>().new_identity();
}

NewTeam::~NewTeam() {
  if (memory_.data() != nullptr) rank_.local<Teams>().keep_for_good(std::move(memory_));
}

void NewTeam::check_room(std::span<const std::uint32_t> members, std::span<const TeamProposal> proposals) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (proposals[i].offset != TeamProposal::kNoRoom) continue;
    memory_ = {};  // nobody will reach for it
    throw Error(std::make_error_code(std::errc::no_buffer_space),
                fmt::format("no new team: rank {} has no room for another one in its segment; let teams go, or start "
                            "with a larger segment: `coracle run --segment 4G ...`",
                            members[i]));
  }
}

std::unique_ptr<Team> NewTeam::make_own(std::vector<std::uint32_t> members, std::span<const TeamProposal> proposals) {
  TeamPlan plan{.members = std::move(members),
                .offsets = {},
                .identity = proposals.front().identity,
                .arena_bytes = proposal_.arena_bytes,
                .memory = {}};
  plan.memory = std::move(memory_);  // by assignment, which leaves none here
  plan.offsets.reserve(proposals.size());
  for (const TeamProposal& proposal : proposals) {
    plan.offsets.push_back(proposal.offset);
    plan.arena_bytes = std::min(plan.arena_bytes, proposal.arena_bytes);
  }
  return std::make_unique<Team>(rank_, std::move(plan));
}

std::unique_ptr<Team> NewTeam::of_one(Rank& rank) {
  NewTeam made(rank);
  const std::uint32_t self = rank.id();
  made.check_room({&self, 1}, {&made.proposal_, 1});
  return made.make_own({self}, {&made.proposal_, 1});
}

}  // namespace coracle::internals
