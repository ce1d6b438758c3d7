// ShortOffers: short messages that were offered, since their sender has used up its room at this rank. They wait for
// their receives, as long ones do. But two ranks that send each other more than there is room for, before either
// receives, would wait for ever, and other libraries keep whatever comes. So a rank that receives nothing of a sender
// for a while has its short messages sent, and keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
  /// `room`: bytes of messages that it keeps at a time. `want_handler`: takes a serial number, at the sender, and has
  /// that message sent to arrive().
  ShortOffers(Rank& rank, FlowControl& flow_control, std::uint64_t room, Handler want_handler) noexcept
      : rank_(rank), flow_control_(flow_control), room_(room), want_(want_handler) {}
  ShortOffers(const ShortOffers&) = delete;
  ShortOffers& operator=(const ShortOffers&) = delete;

  /// One has come, and waits for its receive.
  void add(UnexpectedMessage& offer);
  /// It is received, or its sender wants it back.
  void remove(const UnexpectedMessage& offer) noexcept;
  /// What a sender was asked for has come. Gives whether it is kept, so that its sender need not wait for the receive
  /// any more: not if it is being received already, from where it lies.
  bool arrive(std::uint32_t peer, std::uint64_t serial, std::span<const std::byte> payload);
  /// A message of `peer` that was kept so has been received.
  void received(std::uint32_t peer, std::size_t bytes) noexcept;
  /// `peer` is lost: what it has offered can't be sent any more.
  void forget(std::uint32_t peer) noexcept;
  /// At the end of the rank.
  void forget_all() noexcept;
  /// Some wait that there is no room for.
  bool lacks_room() const noexcept { return lacks_room_ && waiting_ > 0; }

 private:
  struct Sender {
    // By serial number, so that the oldest is the first.
    std::map<std::uint64_t, UnexpectedMessage*> waiting;
    std::map<std::uint64_t, UnexpectedMessage*> wanted;  // and not here yet
    std::uint64_t received = 0;                          // how many, of those that were offered
    std::uint64_t seen = 0;                              // receipts, when they were looked at last
    unsigned quiet = 0;                                  // since when there are no more: looks
    unsigned patience = 1;                               // so many must be quiet
    bool has_stalled = false;  // nothing has been received for so long: all that come are wanted
  };

  std::uint64_t receipts_of(std::uint32_t peer, const Sender& sender);
  /// Whether there has been a receipt since the last look.
  bool has_moved(std::uint32_t peer, Sender& sender);
  void begin_to_watch();
  Task<> watch();
  void look_at_all();
  /// Has the oldest sent, if there is room for them here.
  void want_some(std::uint32_t peer, Sender& sender);
  Task<> ask(std::uint32_t peer, std::uint64_t serial);
  void give_room(std::size_t bytes) noexcept;

  Rank& rank_;
  FlowControl& flow_control_;
  const std::uint64_t room_;
  const Handler want_;
  std::uint64_t used_ = 0;  // of the room
  std::unordered_map<std::uint32_t, Sender> senders_;
  std::size_t waiting_ = 0;  // of all senders
  bool is_watched_ = false;
  bool lacks_room_ = false;  // nothing can be wanted before some is given back
};

}  // namespace coracle::internals
