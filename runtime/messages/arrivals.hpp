// Arrivals: the messages that have come for a rank and are not received yet, and its receives and probes that wait for
// such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/frame_pool.hpp"
#include "runtime/messages/flow_control.hpp"
#include "runtime/messages/matcher.hpp"
#include "runtime/messages/message_memory.hpp"
#include "runtime/messages/pending.hpp"
#include "runtime/messages/rendezvous.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// A message that came before its receive: short ones whole, of the others where they lie. One allocation, payload and
/// all. Rank's thread only.
class UnexpectedMessage final : public Matcher::Unexpected {
 public:
  using Owner = UnexpectedOwner;

  static Owner with(const Envelope& envelope, std::uint32_t rank, const MessageSource& payload) {
    void* memory = FramePool::allocate(sizeof(UnexpectedMessage) + payload.bytes());
    auto* message = new (memory) UnexpectedMessage(envelope, rank, payload.bytes());
    read_part(payload, 0, {reinterpret_cast<std::byte*>(message + 1), payload.bytes()});
    return Owner(message);
  }
  static Owner with(const Envelope& envelope, std::uint32_t rank, const ReadyToSend& offer) {
    auto* message = new (FramePool::allocate(sizeof(UnexpectedMessage))) UnexpectedMessage(envelope, rank, offer.bytes);
    message->is_offer_ = true;
    message->offer_ = offer;
    return Owner(message);
  }

  /// Where a tool is told of messages: the one of this.
  std::uint64_t number = 0;

  /// The sender.
  std::uint32_t rank() const noexcept { return rank_; }
  std::size_t bytes() const noexcept { return bytes_; }
  bool is_offer() const noexcept { return is_offer_; }
  const ReadyToSend& offer() const noexcept { return offer_; }
  /// Of one that is none.
  std::span<const std::byte> payload() const noexcept { return {reinterpret_cast<const std::byte*>(this + 1), bytes_}; }

 private:
  friend DropUnexpected;

  UnexpectedMessage(const Envelope& of, std::uint32_t rank, std::size_t bytes) noexcept
      : Unexpected(of), rank_(rank), bytes_(bytes) {}
  ~UnexpectedMessage() = default;

  std::uint32_t rank_;
  bool is_offer_ = false;
  std::size_t bytes_;
  ReadyToSend offer_;
};

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
  /// A message that came eagerly has been received.
  void count_received(std::uint32_t peer, std::size_t bytes) {
    if (flow_control_.receive(peer, bytes)) [[unlikely]]
      tell_room(peer);
  }
  /// See TransportTraits; of the transport to the ranks of this node.
  std::size_t copied_bytes_max() const noexcept { return copied_bytes_max_; }

 protected:
  /// `room`: of the message that tells a sender how much has been received.
  Arrivals(Rank& rank, Handler room, const RendezvousHandlers& handlers);
  ~Arrivals() = default;

  UnexpectedMessage* find(const Envelope& wanted) { return static_cast<UnexpectedMessage*>(matcher_.find(wanted)); }
  UnexpectedMessage::Owner take_out(UnexpectedMessage& message) noexcept {
    matcher_.remove(message);
    return UnexpectedMessage::Owner(&message);
  }
  /// Soon.
  void tell_room(std::uint32_t peer);

  Rank& rank_;
  Events* const events_;
  Matcher matcher_;
  FlowControl flow_control_;
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
