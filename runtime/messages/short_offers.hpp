// ShortOffers: short messages that were offered, since their sender has used up its room at this rank. They wait for
// their receives, as long ones do. But two ranks that send each other more than there is room for, before either
// receives, would wait for ever, and other libraries keep whatever comes. So a rank that has received nothing of a
// sender for a while has its short messages sent, and keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "runtime/core/task.hpp"
#include "runtime/messages/flow_control.hpp"
#include "runtime/messages/unexpected_message.hpp"
#include "runtime/rank/message.hpp"

namespace coracle::internals {

class Rank;

/// Of the offers that lie unreceived at one rank. Its thread only.
class ShortOffers {
 public:
  /// `room`: bytes of messages that it keeps at a time. `want`: takes a serial number, at the sender, and has that
  /// message sent to arrive().
  ShortOffers(Rank& rank, FlowControl& flow_control, std::uint64_t room, Handler want_handler) noexcept
      : rank_(rank), flow_control_(flow_control), room_(room), want_(want_handler) {}
  ShortOffers(const ShortOffers&) = delete;
  ShortOffers& operator=(const ShortOffers&) = delete;

  /// One has come, and waits for its receive.
  void add(UnexpectedMessage& offer);
  /// It is received, or its sender wants it back.
  void remove(const UnexpectedMessage& offer) noexcept;
  /// At the end of the rank.
  void forget_all() noexcept;
  /// A sender has sent what it was asked for. Gives whether that is kept, so that its sender need not wait for the
  /// receive any more: not if the message is being received already, from where it lies.
  bool arrive(std::uint32_t peer, std::uint64_t serial, std::span<const std::byte> payload);
  /// A message that was kept so has been received.
  void received(std::size_t bytes) noexcept { give_room(bytes); }
  /// More wait than there is room for.
  bool lacks_room() const noexcept { return lacks_room_; }

 private:
  /// Serial numbers are those of the sender.
  struct Key {
    bool operator==(const Key&) const = default;
    std::uint32_t peer;
    std::uint64_t serial;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept { return key.serial * 0x9e3779b97f4a7c15U + key.peer; }
  };
  struct Offer {
    UnexpectedMessage* message;
    std::uint64_t received_bytes;  // of its sender's other messages, when it was looked at last
    bool is_wanted = false;
  };

  static std::size_t room_of(std::size_t bytes) noexcept { return bytes + FlowControl::kMessageBytes; }
  void begin_to_watch();
  Task<> watch();
  void look_at_all();
  /// Has it sent, if there is room for it here.
  void want(const Key& key, Offer& offer);
  Task<> ask(Key key);
  void give_room(std::size_t bytes) noexcept;

  Rank& rank_;
  FlowControl& flow_control_;
  const std::uint64_t room_;
  const Handler want_;
  std::uint64_t used_ = 0;  // of the room
  std::unordered_map<Key, Offer, Hash> offers_;
  std::size_t unwanted_ = 0;  // of these
  // By sender: how much of it had been received when it was found that no more is. Until more is, its next messages are
  // wanted at once.
  std::unordered_map<std::uint32_t, std::uint64_t> stalled_;
  bool is_watched_ = false;
  bool lacks_room_ = false;  // nothing can be wanted before some is given back
};

}  // namespace coracle::internals
