// Who goes on is the least set that those who run, or need nobody, belong to, and whoever is awaited by its members'
// doings: it is found by going over all ranks until nothing is added.
#include "runtime/insight/wait_graph.hpp"

#include <algorithm>
#include <numeric>

namespace coracle::internals::insight {
namespace {

bool holds(const std::vector<std::uint32_t>& ranks, std::uint32_t rank) noexcept {
  return std::ranges::find(ranks, rank) != ranks.end();
}

}  // namespace

WaitGraph::WaitGraph(std::span<const RankState> states, std::uint64_t stall_ms)
    : states_(states), stall_ms_(stall_ms), goes_on_(states.size()) {
  note_who_goes_on();
}

bool WaitGraph::is_still(std::uint32_t rank) const noexcept {
  const RankState& state = states_[rank];
  return state.doing == Doing::waiting && state.still_ms >= stall_ms_;
}

void WaitGraph::note_who_goes_on() {
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    const Doing doing = states_[rank].doing;
    goes_on_[rank] =
        doing == Doing::starting || doing == Doing::running || (doing == Doing::waiting && !is_still(rank));
    if (goes_on_[rank]) ++going_on_;
  }
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      if (goes_on_[rank] || states_[rank].doing != Doing::waiting) continue;
      const RankWaits& waits = states_[rank].waits;
      const bool unknown = waits.left_out > 0 || waits.waits.empty();
      if (!unknown && !std::ranges::any_of(waits.waits, [&](const Wait& wait) { return may_end(rank, wait); }))
        continue;
      goes_on_[rank] = true;
      ++going_on_;
      more = true;
    }
  }
}

bool WaitGraph::another_goes_on(std::uint32_t rank) const noexcept {
  return going_on_ > (goes_on_[rank] ? 1U : 0U);
}

bool WaitGraph::collective_may_end(std::uint32_t rank) const {
  bool any = false;
  for (const TeamProgress& team : states_[rank].waits.teams) {
    if (!team.under_way) continue;
    any = true;
    const std::vector<std::uint32_t> absent = missing(team);
    if (std::ranges::all_of(absent, [this](std::uint32_t member) { return goes_on_[member]; })) return true;
  }
  return !any;
}

bool WaitGraph::may_end(std::uint32_t rank, const Wait& wait) const {
  const bool named = wait.peer >= 0 && static_cast<std::uint32_t>(wait.peer) < size();
  const auto peer = named ? static_cast<std::uint32_t>(wait.peer) : rank;
  switch (wait.kind) {
    case WaitKind::timer:
    case WaitKind::readiness:
    case WaitKind::loss:  // which may come from outside at any time
      return !wait.of_library;
    case WaitKind::io:
    case WaitKind::device:
      return true;
    case WaitKind::operation:
    case WaitKind::transfer:
      return !named || (states_[peer].doing != Doing::stopped && states_[peer].doing != Doing::ended);
    case WaitKind::call:
    case WaitKind::receive:
    case WaitKind::send:
    case WaitKind::signal:
      return named ? peer != rank && goes_on_[peer] : another_goes_on(rank);
    case WaitKind::inside:
      return another_goes_on(rank);
    case WaitKind::collective:
      return collective_may_end(rank);
    case WaitKind::children:
      break;
  }
  return false;
}

const TeamProgress* WaitGraph::progress(std::uint32_t rank, std::uint32_t team) const noexcept {
  const auto& teams = states_[rank].waits.teams;
  const auto found = std::ranges::find(teams, team, &TeamProgress::team);
  return found != teams.end() ? &*found : nullptr;
}

std::vector<std::uint32_t> WaitGraph::missing(const TeamProgress& own) const {
  std::vector<std::uint32_t> members = own.members;
  if (members.empty() && own.size == size()) {
    members.resize(size());
    std::iota(members.begin(), members.end(), 0U);
  }
  std::erase_if(members, [&](std::uint32_t member) {
    if (member >= size()) return true;
    const TeamProgress* const theirs = progress(member, own.team);
    if (theirs != nullptr) return theirs->number >= own.number;
    // One that waits, and knows the team no more, has done its part. Of one that has not said anything yet, the little
    // that is known is that it runs.
    return states_[member].doing == Doing::waiting;
  });
  return members;
}

std::vector<std::uint32_t> WaitGraph::awaited(std::uint32_t rank, const Wait& wait) const {
  if (wait.kind == WaitKind::collective) {
    std::vector<std::uint32_t> ranks;
    for (const TeamProgress& team : states_[rank].waits.teams) {
      if (!team.under_way) continue;
      for (const std::uint32_t member : missing(team))
        if (!holds(ranks, member)) ranks.push_back(member);
    }
    return ranks;
  }
  const bool named = wait.peer >= 0 && static_cast<std::uint32_t>(wait.peer) < size();
  if (!named || wait.kind == WaitKind::inside || static_cast<std::uint32_t>(wait.peer) == rank) return {};
  return {static_cast<std::uint32_t>(wait.peer)};
}

std::vector<std::uint32_t> WaitGraph::awaited(std::uint32_t rank) const {
  std::vector<std::uint32_t> ranks;
  for (const Wait& wait : states_[rank].waits.waits) {
    const bool is_aside = wait.kind == WaitKind::operation || wait.kind == WaitKind::readiness;
    if (wait.of_library && is_aside) continue;
    for (const std::uint32_t each : awaited(rank, wait))
      if (!holds(ranks, each)) ranks.push_back(each);
  }
  return ranks;
}

/// A walk that always takes the first stuck rank that is awaited: it comes round in the end, or to one that awaits
/// none.
std::vector<std::uint32_t> WaitGraph::ring_from(std::uint32_t rank) const {
  std::vector<std::uint32_t> way;
  for (std::uint32_t at = rank; !holds(way, at);) {
    way.push_back(at);
    const std::vector<std::uint32_t> next = awaited(at);
    // One that is on the way already closes the shortest ring.
    auto found = std::ranges::find_if(next, [&](std::uint32_t each) { return is_stuck(each) && holds(way, each); });
    if (found == next.end()) found = std::ranges::find_if(next, [this](std::uint32_t each) { return is_stuck(each); });
    if (found == next.end()) return {};
    at = *found;
    if (!holds(way, at)) continue;
    way.erase(way.begin(), std::ranges::find(way, at));
    std::ranges::rotate(way, std::ranges::min_element(way));
    return way;
  }
  return {};
}

}  // namespace coracle::internals::insight
