// Inbox: the messages for one rank: those that are in, and those that wait at their senders until there is room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "transports/sim/sim_message.hpp"

namespace coracle::internals::sim {

struct Inbox {
  explicit Inbox(std::size_t bytes) noexcept : room_bytes(bytes) {}

  /// True when a message of `source` waits: a later one of it must not overtake that.
  bool waits(std::uint32_t source) const noexcept {
    for (const auto& message : waiting)
      if (message->source == source) return true;
    return false;
  }
  bool take_room(SimMessage& message) noexcept {
    if (message.inbox_bytes() > room_bytes) return false;
    room_bytes -= message.inbox_bytes();
    message.has_room = true;
    return true;
  }
  void give_back_room(SimMessage& message) noexcept {
    if (std::exchange(message.has_room, false)) room_bytes += message.inbox_bytes();
  }

  std::deque<std::unique_ptr<SimMessage>> arrived;
  std::deque<std::unique_ptr<SimMessage>> waiting;
  std::size_t room_bytes;  ///< What is neither taken by messages that are in nor by those under way.
};

}  // namespace coracle::internals::sim
