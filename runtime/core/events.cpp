// Events of one kind or another that several places tell.
#include "runtime/core/events.hpp"

#include "runtime/core/program_place.hpp"

namespace coracle::internals {

void Events::tell(coracle_event_kind kind, std::uint64_t id) noexcept {
  coracle_event event = this->event(kind);
  event.task = 0;
  event.id = id;
  tell(event);
}

void Events::begin_span(const char* name, std::uint64_t id, const coracle_place* place) noexcept {
  coracle_event event = this->event(CORACLE_SPAN_BEGIN);
  event.id = id;
  event.name = name;
  event.place = place;
  tell(event);
}

bool Events::is_of_library(const std::source_location& where) noexcept {
  const coracle_place* const place = place_of(where);
  // Neighbours are 24 bytes apart.
  KnownPlace& known = places_[reinterpret_cast<std::uintptr_t>(place) / 8 % places_.size()];
  if (known.place != place || place == nullptr) known = {place, internals::is_of_library(where)};
  return known.is_of_library;
}

void Events::end_span(std::uint64_t id) noexcept {
  tell(CORACLE_SPAN_END, id);
}

}  // namespace coracle::internals
