// Calls as spans.
#include "interfaces/mpi/core/call_span.hpp"

#include "interfaces/mpi/core/call_place.hpp"

namespace coracle::mpi {

internals::Events* call_events = nullptr;

[[gnu::cold]] void CallSpan::begin(const char* function, const void* site) noexcept {
  id_ = events_->new_id();
  events_->begin_span(function, id_, place_of_call(site));
}

[[gnu::cold]] void CallSpan::end() const noexcept {
  if (events_ == call_events) events_->end_span(id_);
}

}  // namespace coracle::mpi
