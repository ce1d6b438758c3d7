// Phases as events.
#include "runtime/team/phase.hpp"

#include "runtime/rank/rank.hpp"

namespace coracle::internals {

Phase::Phase(Team& team, std::uint64_t sequence, const char* name, std::uint32_t leader)
    : events_(team.rank().loop().events()) {
  if (events_ == nullptr) [[likely]]
    return;
  coracle_event event = events_->event(CORACLE_PHASE_BEGIN);
  id_ = events_->new_id();
  event.id = id_;
  event.name = name;
  event.number = team.core().event_id(sequence);
  event.peer = leader;
  events_->tell(event);
}

void Phase::end() const noexcept {
  coracle_event event = events_->event(CORACLE_PHASE_END);
  event.id = id_;
  events_->tell(event);
}

}  // namespace coracle::internals
