// Arrivals: the messages that have come for a rank and are not received yet, and its receives and probes that wait for
// such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/messages/flow_control.hpp"
#include "runtime/messages/matcher.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/messages/rendezvous.hpp"
#include "runtime/messages/short_offers.hpp"
#include "runtime/messages/unexpected_message.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

class ProbeWait;
class Team;

/// As sends and waits know it; the rest is that of Messages.
class Arrivals {
 public:
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  Rank& rank() const noexcept { return rank_; }
  /// See Scheduler::events.
  Events* events() const noexcept { return events_; }
  /// Messages that have come and are not received yet.
  std::size_t unexpected() const noexcept { return matcher_.kept(); }
  Matcher& matcher() noexcept { return matcher_; }
  std::vector<ProbeWait*>& probes() noexcept { return probes_; }
  Rendezvous& rendezvous() noexcept { return rendezvous_; }
  RendezvousSends& sends() noexcept { return sends_; }
  /// A loss has ended a wait for that source.
  void told(const Team& team, std::uint32_t source, std::uint32_t rank);
  /// Why no message can come, or have come, of that source: the rank that is lost.
  std::optional<std::uint32_t> lost_source(Team& team, std::uint32_t from) {
    if (!rank_.core().peers().any_lost()) [[likely]]
      return std::nullopt;
    return lost_source_of(team, from);
  }
  /// The first message that a receive accepts, taken out, or null.
  UnexpectedMessage::Owner take_out_first(const Envelope& wanted) {
    UnexpectedMessage* there = find(wanted);
    return there != nullptr ? take_out(*there) : nullptr;
  }
  /// A message that came before its receive, and whole, has been received.
  void count_received(const UnexpectedMessage& message) {
    if (message.was_offered()) [[unlikely]]
      return short_offers_.received(message.rank(), message.bytes());
    if (flow_control_.receive(message.rank(), message.bytes())) [[unlikely]]
      tell_room(message.rank());
  }
  /// A message is received from now on, or dropped: what it is, an offer or whole, it stays.
  void begin_to_take(const UnexpectedMessage& message) noexcept {
    if (message.is_offer() && message.offer().is_short) [[unlikely]]
      short_offers_.remove(message);
  }
  /// Short messages wait at their senders, since what lies here unreceived has used up all room for such.
  bool lacks_room() const noexcept { return short_offers_.lacks_room(); }
  /// See TransportTraits; of the transport to the ranks of this node.
  std::size_t copied_bytes_max() const noexcept { return copied_bytes_max_; }

 protected:
  /// `room`: of the message that tells a sender how much has been received.
  Arrivals(Rank& rank, Handler room, const RendezvousHandlers& handlers);
  ~Arrivals() = default;

  UnexpectedMessage* find(const Envelope& wanted) { return static_cast<UnexpectedMessage*>(matcher_.find(wanted)); }
  UnexpectedMessage::Owner take_out(UnexpectedMessage& message) noexcept {
    matcher_.remove(message);
    begin_to_take(message);
    return UnexpectedMessage::Owner(&message);
  }
  /// Soon.
  void tell_room(std::uint32_t peer);

  Rank& rank_;
  Events* const events_;
  Matcher matcher_;
  FlowControl flow_control_;
  ShortOffers short_offers_;
  MessageRooms rooms_;
  Rendezvous rendezvous_;
  RendezvousSends sends_;
  std::vector<ProbeWait*> probes_;

 private:
  std::optional<std::uint32_t> lost_source_of(Team& team, std::uint32_t from);
  Task<> send_room(std::uint32_t peer);

  Handler room_handler_;
  const std::size_t copied_bytes_max_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> told_losses_;  // team and rank, to receives of any source
};

}  // namespace coracle::internals
