// split: new teams out of one; and how the members of any new team meet.
#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/new_team.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {
namespace {

struct SplitCall {
  std::uint32_t color;
  std::uint32_t key;
  std::uint32_t index;
  std::uint32_t padding = 0;
  TeamProposal proposal;
};

/// Those of one color, in the new team's order.
std::vector<SplitCall> calls_of(std::uint32_t color, std::vector<SplitCall> calls) {
  std::erase_if(calls, [color](const SplitCall& call) { return call.color != color; });
  std::sort(calls.begin(), calls.end(), [](const SplitCall& left, const SplitCall& right) {
    return left.key != right.key ? left.key < right.key : left.index < right.index;
  });
  return calls;
}

/// Breaks a team in the making when that breaks whose members make it: some of them may never come to the new one.
class BreaksWith final : private LossObserver {
 public:
  BreaksWith(TeamCore& parent, TeamCore& team) : parent_(parent), team_(team) {
    parent.observers().add(*this);
    team.break_like(parent);
  }

 private:
  bool concerns(std::uint32_t peer) const noexcept override { return parent_.has(peer); }
  void lost(const Loss&) noexcept override { team_.break_like(parent_); }

  TeamCore& parent_;
  TeamCore& team_;
};

}  // namespace

Task<std::unique_ptr<Team>> NewTeam::make(std::vector<std::uint32_t> members, std::vector<TeamProposal> proposals,
                                          TeamCore& parent, std::source_location where) {
  check_room(members, proposals);
  std::unique_ptr<Team> team = make_own(std::move(members), proposals);
  const CollectiveCall meeting{.called = Called::split, .where = where};  // not a barrier of the program
  std::exception_ptr failure;
  try {
    const BreaksWith with(parent, team->core());
    co_await team->meet_all(meeting);
  } catch (const Error& error) {
    // A member that has left the meeting may have broken the team since, by a collective of its own: the team was made
    // then, and the next collective here tells the rest.
    const bool made = error.code() == Errc::given_up && !parent.broken();
    if (!made) failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) {
    // A member that has not made its team yet would not be told of the new one's end.
    parent.give_up();
    std::rethrow_exception(failure);
  }
  co_return team;
}

/// One collective of this team, a gather, so that others may be called on it meanwhile; the rest is the new team's.
Task<std::unique_ptr<Team>> Team::split(std::uint32_t color, std::uint32_t key, Where where) {
  std::optional<Preparation> preparation(std::in_place, *this, "split");
  std::optional<NewTeam> made;
  if (color != kNoTeam) made.emplace(rank());
  std::vector<SplitCall> calls(size());
  calls[index()] = {.color = color, .key = key, .index = index(), .proposal = made ? made->proposal() : TeamProposal{}};
  co_await gather_all_bytes(*this, std::as_bytes(std::span(&calls[index()], 1)),
                            std::as_writable_bytes(std::span(calls)), Blocks(size(), sizeof(SplitCall)),
                            Algorithm::automatic, where, Called::split);
  preparation.reset();  // from here on NewTeam says what breaks this team
  if (!made) co_return nullptr;
  std::vector<std::uint32_t> members;
  std::vector<TeamProposal> proposals;
  for (const SplitCall& call : calls_of(color, std::move(calls))) {
    members.push_back(member(call.index));
    proposals.push_back(call.proposal);
  }
  std::unique_ptr<Team> team = co_await made->make(std::move(members), std::move(proposals), *this, where);
  co_return team;
}

}  // namespace coracle::internals
