// What tools are told of messages: tagged ones, and those inside collectives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/events.hpp"
#include "runtime/team/envelope.hpp"

namespace coracle::internals {

/// Gives `number`.
inline std::uint64_t tell_of_begin(Events& events, coracle_event_kind kind, const Envelope& envelope,
                                   std::uint32_t peer, std::uint64_t number, std::size_t bytes) {
  coracle_event event = events.event(kind);
  event.peer = peer;
  event.number = number;
  event.bytes = bytes;
  event.tag = envelope.tag;
  event.team = envelope.team;
  events.tell(event);
  return number;
}
/// A message leaves now, before any other to `peer`: gives its number.
inline std::uint64_t tell_of_send(Events& events, const Envelope& envelope, std::uint32_t peer, std::size_t bytes) {
  return tell_of_begin(events, CORACLE_SEND_BEGIN, envelope, peer, events.number_of_sent(peer), bytes);
}
/// The same of one that has come: handlers run in the order of sends.
inline std::uint64_t tell_of_arrival(Events& events, const Envelope& envelope, std::uint32_t peer, std::size_t bytes) {
  return tell_of_begin(events, CORACLE_RECEIVE_BEGIN, envelope, peer, events.number_of_arrived(peer), bytes);
}

inline void tell_of_end(Events& events, coracle_event_kind kind, std::uint32_t peer, std::uint64_t number) noexcept {
  coracle_event event = events.event(kind);
  event.peer = peer;
  event.number = number;
  events.tell(event);
}

/// From a send that leaves now to its end; `events` may be null.
class SendTold {
 public:
  SendTold(Events* events, const Envelope& envelope, std::uint32_t peer, std::size_t bytes)
      : events_(events), peer_(peer), number_(events == nullptr ? 0 : tell_of_send(*events, envelope, peer, bytes)) {}
  ~SendTold() {
    if (events_ != nullptr) [[unlikely]]
      tell_of_end(*events_, CORACLE_SEND_END, peer_, number_);
  }
  SendTold(const SendTold&) = delete;
  SendTold& operator=(const SendTold&) = delete;

 private:
  Events* events_;
  std::uint32_t peer_;
  std::uint64_t number_;
};

}  // namespace coracle::internals
