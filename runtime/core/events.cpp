// Events of one kind or another that several places tell.
#include "runtime/core/events.hpp"

namespace coracle::internals {

void Events::tell(coracle_event_kind kind, std::uint64_t id) noexcept {
  coracle_event event = this->event(kind);
  event.task = 0;
  event.id = id;
  tell(event);
}

void Events::begin_span(const char* name, std::uint64_t id, const std::source_location& where) noexcept {
  coracle_event event = this->event(CORACLE_SPAN_BEGIN);
  event.id = id;
  event.name = name;
  event.place = place_of(where);
  tell(event);
}

void Events::end_span(std::uint64_t id) noexcept {
  tell(CORACLE_SPAN_END, id);
}

}  // namespace coracle::internals
