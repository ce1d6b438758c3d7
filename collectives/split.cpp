// split: new teams out of one.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/collectives.hpp"
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

}  // namespace

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
  if (color == kNoTeam) co_return nullptr;
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
