// PageEvents: what tools are told of one cache's page misses.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "runtime/core/events.hpp"

namespace coracle::internals::storage {

class PageEvents {
 public:
  /// Null: nobody is told.
  explicit PageEvents(Events* events) noexcept : events_(events) {}

  bool is_told() const noexcept { return events_ != nullptr; }
  /// A page that is not here is to come into `frame`, from `home` or whom that asks.
  void missed(std::uint32_t frame, std::uint64_t page, std::uint64_t bytes, std::uint32_t home) {
    if (events_ == nullptr) [[likely]]
      return;
    awaited_.insert(frame);
    coracle_event event = event_of(CORACLE_PAGE_MISS_BEGIN, frame);
    event.number = page;
    event.bytes = bytes;
    event.peer = home;
    events_->tell(event);
  }
  /// It is there; `way`: enum coracle_page_way, or 0 where it will not come. Does nothing for a page that was not
  /// missed.
  void came(std::uint32_t frame, std::uint16_t way, std::uint32_t from = CORACLE_NOBODY) {
    if (events_ == nullptr || awaited_.erase(frame) == 0) [[likely]]
      return;
    coracle_event event = event_of(CORACLE_PAGE_MISS_END, frame);
    event.what = way;
    event.peer = from;
    events_->tell(event);
  }

 private:
  coracle_event event_of(coracle_event_kind kind, std::uint32_t frame) const noexcept {
    coracle_event event = events_->event(kind);
    event.id = reinterpret_cast<std::uint64_t>(this) + frame;  // which no other cache of this rank has
    return event;
  }

  Events* const events_;
  std::unordered_set<std::uint32_t> awaited_;
};

}  // namespace coracle::internals::storage
