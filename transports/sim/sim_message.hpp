// SimMessage: one message of a simulated job, from its sender's call until its handler has run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/rank/message.hpp"
#include "transports/sim/ground.hpp"

namespace coracle::internals::sim {

class SimEnd;

struct SimMessage final : Transit {
  /// A request, whose operation it carries out.
  SimMessage(SimEnd& from, SimEnd& to, RequestOperation& request) noexcept;
  /// A reply.
  SimMessage(SimEnd& from, SimEnd& to, const MessageHeader& what, std::span<const std::byte> content) noexcept;

  /// Sends it off; room for it has been taken. It owns itself until it is in the target's inbox. `delay_ns`: until its
  /// sender knows of the room.
  static void launch(std::unique_ptr<SimMessage> message, std::uint64_t delay_ns) noexcept;
  /// The handler of a rendezvous has run: tells the sender.
  static void send_back(std::unique_ptr<SimMessage> message) noexcept;

  /// Large: the receiver reads from the sender's memory, which is the sender's operation until the handler has run.
  bool is_rendezvous() const noexcept;
  std::size_t inbox_bytes() const noexcept;
  /// It has come to its target's port, and waits for those before it or for a fault's end; nothing in the schedule
  /// stands for it.
  bool at_port() const noexcept { return stage_ == Stage::at_port; }
  /// Takes it in from the port.
  void arrive() noexcept;
  std::span<const std::byte> content() const noexcept;

  void happen() noexcept override;
  std::uint64_t label() const noexcept override;

  SimEnd& from_end;
  SimEnd& to_end;
  std::uint32_t source;
  std::uint32_t target;
  MessageHeader header;
  std::vector<std::byte> payload;  ///< Of a reply, or of a request once it has been read.
  const bool is_reply;
  bool has_room = false;  ///< In its target's inbox.
  bool doomed = false;    ///< It is lost on its way, and goes when its time comes.

 private:
  enum class Stage : std::uint8_t { waits, read, sent, reaches, at_port, arrives, told };
  void read_source() noexcept;

  const std::size_t bytes_;
  Stage stage_ = Stage::waits;
  std::uint64_t sent_ns_ = 0;
  std::uint64_t reach_ns_ = 0;
};

/// The messages for one rank: those that are in, and those that wait at their senders until there is room.
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
