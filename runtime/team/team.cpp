// What a team does for its collectives, with the help of its node area and of the watchdog for wrong calls.
#include "runtime/team/team.hpp"

#include <exception>
#include <optional>

#include "runtime/rank/rank.hpp"
#include "runtime/team/collective_watchdog.hpp"
#include "runtime/team/node_area.hpp"

namespace coracle::internals {

Team::Team(Rank& rank) : TeamCore(rank) {
  watch_members();
  node_area_ = std::make_unique<NodeArea>(rank, core(), nullptr);
}

Team::Team(Rank& rank, TeamPlan plan) : TeamCore(rank, plan) {
  node_area_ = std::make_unique<NodeArea>(rank, core(), &plan);
  watch_members();
}

Team::~Team() = default;

std::uint64_t Team::begin(const CollectiveCall& call) {
  if (watchdog_ == nullptr) [[unlikely]]
    watchdog_ = &rank().local<CollectiveWatchdog>();
  const std::uint64_t number = log().begin(call, watchdog_->program_call());
  watchdog_->look_on();
  if (const auto peer = log().take_misheard()) [[unlikely]]
    watchdog_->differs(*this, *peer);
  return number;
}

Task<> Team::agree_on_calls() {
  const std::optional<std::uint32_t> peer = take_at_odds();
  if (!peer) co_return;
  co_await CollectiveWatchdog::compare(rank(), identity(), *peer);
  check_whole("barrier");
}

Participation::~Participation() {
  if (has_ended_) return;
  team_.core().log().end();
  // Coroutines are never resumed while an exception is on its way: it is this one's.
  if (std::uncaught_exceptions() > 0) team_.core().give_up();
}

Preparation::~Preparation() {
  if (std::uncaught_exceptions() > 0) team_.core().give_up();  // as above
}

}  // namespace coracle::internals
