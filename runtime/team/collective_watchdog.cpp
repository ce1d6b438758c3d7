// Asking neighbours what they have called.
#include "runtime/team/collective_watchdog.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/core/combinators.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team_core.hpp"
#include "runtime/team/team_nodes.hpp"

namespace coracle::internals {
namespace {

constexpr std::uint64_t kFirstIntervalNs = 200'000'000;
// A collective may stand still for long because somebody computes: then there is nothing to find.
constexpr std::uint64_t kIntervalNsMax = 8'000'000'000;

/// The rank of one of those that this member meets in the last barrier, of each in turn: they have not ended before it
/// is over for this one, as all the others may have. The team has other members.
std::uint32_t partner_at_finalize(const TeamCore& team, std::uint32_t turn) noexcept {
  const TeamNodes& nodes = team.nodes();
  const std::uint32_t node = nodes.own();
  if (nodes.local_index_of(team.index()) != 0) return team.member(nodes.member(node, 0));
  const auto [first_child, children] = signal_tree::children_of(node, nodes.count());
  const std::uint32_t parents = node == 0 ? 0 : 1;
  const std::uint32_t local_size = nodes.size_of(node) > 1 ? 1 : 0;
  const std::uint32_t which = turn % (parents + children + local_size);
  if (which < parents) return team.member(nodes.member(signal_tree::parent_of(node), 0));
  if (which < parents + children) return team.member(nodes.member(first_child + which - parents, 0));
  return team.member(nodes.member(node, 1));
}

}  // namespace

CollectiveWatchdog::CollectiveWatchdog(Rank& rank) noexcept
    : rank_(rank),
      // In `sim` nothing may happen that is not the program's doing: there the calls are compared when all stands
      // still.
      on_duty_(rank.placement() == Placement::sim || rank.size() == 1) {}

CollectiveWatchdog::~CollectiveWatchdog() {
  if (armed()) rank_.loop().rough_timers().disarm(*this);
}

void CollectiveWatchdog::begin() {
  on_duty_ = true;
  interval_ns_ = kFirstIntervalNs;
  rank_.loop().rough_timers().arm(*this, rank_.loop().now_ns() + interval_ns_);
}

void CollectiveWatchdog::fire() noexcept {
  bool any_under_way = false;
  bool any_still = false;
  for (const auto& [identity, team] : rank_.local<Teams>().all()) {
    if (team->broken() || team->size() == 1) continue;
    any_under_way |= team->log().any_under_way();
    if (!team->log().stands_still()) continue;
    any_still = true;
    try {
      doubt(*team, team->finalizes() ? partner_at_finalize(*team, finalize_turn_++)
                                     : team->member((team->index() + 1) % team->size()));
    } catch (const std::bad_alloc&) {  // then another time: nobody has asked for this, and it must end nothing
    }
  }
  on_duty_ = any_under_way;
  if (!on_duty_) return;  // an idle rank need not be woken
  interval_ns_ = any_still ? std::min(interval_ns_ * 2, kIntervalNsMax) : kFirstIntervalNs;
  rank_.loop().rough_timers().arm(*this, rank_.loop().now_ns() + interval_ns_);
}

void CollectiveWatchdog::doubt(const TeamCore& team, std::uint32_t peer) {
  if (rank_.lost(peer)) return;
  const auto [place, is_new] = in_doubt_.insert(team.identity());
  if (!is_new) return;
  try {
    rank_.service().spawn(compare_later(rank_, team.identity(), peer));
  } catch (...) {
    in_doubt_.erase(place);
    throw;
  }
}

void CollectiveWatchdog::differs(TeamCore& team, std::uint32_t peer) {
  team.set_at_odds(peer);
  doubt(team, peer);
}

Task<> CollectiveWatchdog::compare_later(Rank& rank, std::uint32_t team, std::uint32_t peer) {
  co_await yield();  // not from inside a handler or poller
  const Result<> compared = co_await as_result(compare(rank, team, peer));
  rank.local<CollectiveWatchdog>().in_doubt_.erase(team);
  // Without an answer nothing is known, which is how it was before.
  if (!compared.ok() && compared.code() != Errc::peer_lost && compared.code() != std::errc::operation_canceled)
    throw compared.error();
}

Task<> CollectiveWatchdog::compare(Rank& rank, std::uint32_t team, std::uint32_t peer) {
  auto& watchdog = rank.local<CollectiveWatchdog>();
  const std::uint64_t ticket = ++watchdog.last_ticket_;
  Asked asked{{rank.core(), "what a member has called", peer, rank.core().peers().observers()}, {}};
  asked.answered.explain({WaitKind::readiness});  // nobody goes on, or stands still, because of it
  watchdog.asked_.emplace(ticket, &asked);
  std::exception_ptr failure;
  try {
    co_await rank.request(peer, on_asked, {}, team, ticket);
    co_await asked.answered;
  } catch (...) {
    failure = std::current_exception();
  }
  watchdog.asked_.erase(ticket);  // an answer that comes later is not missed
  if (failure) std::rethrow_exception(failure);
  TeamCore* found = rank.local<Teams>().find(team);
  if (found == nullptr || found->broken()) co_return;
  const auto difference = first_difference(found->log().calls(), asked.calls);
  if (difference) found->break_as_misfit(difference->describe(rank.id(), peer));
}

void CollectiveWatchdog::on_asked(Rank& rank, const Message& message) {
  std::vector<CallWords> calls;
  if (const TeamCore* team = rank.local<Teams>().find(static_cast<std::uint32_t>(message.argument(0))))
    calls = team->log().calls();
  calls.resize(std::min(calls.size(), message.reply_bytes_max() / sizeof(CallWords)));
  message.reply(on_told, std::as_bytes(std::span(calls)), {message.argument(1)});
}

void CollectiveWatchdog::on_told(Rank& rank, const Message& message) {
  auto& asked = rank.local<CollectiveWatchdog>().asked_;
  const auto found = asked.find(message.argument(0));
  if (found == asked.end()) return;
  found->second->calls.resize(message.payload().size() / sizeof(CallWords));
  if (!found->second->calls.empty())
    std::memcpy(found->second->calls.data(), message.payload().data(), found->second->calls.size() * sizeof(CallWords));
  found->second->answered.set();
}

std::string find_misfit(std::span<Rank* const> ranks) {
  for (Rank* rank : ranks) {
    for (const auto& [identity, team] : rank->local<Teams>().all()) {
      const std::uint32_t next = team->member((team->index() + 1) % team->size());
      const auto neighbour =
          std::find_if(ranks.begin(), ranks.end(), [next](const Rank* other) { return other->id() == next; });
      if (neighbour == ranks.end()) continue;
      const TeamCore* there = (*neighbour)->local<Teams>().find(identity);
      if (there == nullptr) continue;
      if (const auto difference = first_difference(team->log().calls(), there->log().calls()))
        return difference->describe(rank->id(), next);
    }
  }
  return {};
}

}  // namespace coracle::internals
