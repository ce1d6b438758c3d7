// What a team does for its collectives, with the help of its node area and of the watchdog for wrong calls.
#include "runtime/team/team.hpp"

#include <exception>
#include <optional>

#include "runtime/core/events.hpp"
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

std::uint64_t Team::begin(const CollectiveCall& call, Events*& events) {
  if (watchdog_ == nullptr) [[unlikely]]
    watchdog_ = &rank().local<CollectiveWatchdog>();
  const std::uint64_t number = log().begin(call, watchdog_->program_call());
  watchdog_->look_on();
  if (const auto peer = log().take_misheard()) [[unlikely]]
    watchdog_->differs(*this, *peer);
  events = rank().loop().events();
  if (events != nullptr) [[unlikely]]
    tell_of(call, number, *events);
  return number;
}

[[gnu::cold]] void Team::tell_of(const CollectiveCall& call, std::uint64_t number, Events& events) const {
  coracle_event event = events.event(CORACLE_COLLECTIVE_BEGIN);
  event.id = core().event_id(number);
  event.number = number;
  event.what = static_cast<std::uint16_t>(call.called);
  event.name = call.called == Called::finalize ? "finalize" : name_of(call.called);
  if (call.root != CollectiveCall::kNoRoot && call.root < size()) event.peer = member(call.root);
  if (call.bytes != CollectiveCall::kAnyBytes) event.bytes = call.bytes;
  event.place = place_of(call.where);
  events.tell(event);
}

[[gnu::cold]] void Participation::tell_of_end() noexcept {
  coracle_event event = events_->event(CORACLE_COLLECTIVE_END);
  event.id = team_.core().event_id(sequence_);
  event.number = sequence_;
  events_->tell(event);
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
  if (events_ != nullptr) tell_of_end();
  // Coroutines are never resumed while an exception is on its way: it is this one's.
  if (std::uncaught_exceptions() > 0) team_.core().give_up();
}

Preparation::~Preparation() {
  if (std::uncaught_exceptions() > 0) team_.core().give_up();  // as above
}

}  // namespace coracle::internals
