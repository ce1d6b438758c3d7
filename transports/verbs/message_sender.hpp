// MessageSender: requests, replies and what the protocol itself says, as messages to peers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "transports/verbs/endpoint.hpp"
#include "transports/verbs/peer.hpp"

namespace coracle::internals::verbs {

class MessageSender {
 public:
  /// Both must outlive it.
  MessageSender(Endpoint& endpoint, PeerHost& host) noexcept : endpoint_(endpoint), host_(host) {}

  /// Encodes and adds it to what is posted next; false when there is no room now.
  bool send_now(Peer& peer, WireType kind, const MessageHeader& header, std::span<const std::byte> payload) noexcept;
  /// Of the protocol's own messages and replies none may be refused: without room they wait in memory. There are as
  /// many as there are requests of the peer, which has a bounded number under way.
  void send(Peer& peer, WireType kind, const MessageHeader& header, std::span<const std::byte> payload) noexcept;
  void send(Peer& peer, WireType kind, std::initializer_list<std::uint64_t> arguments) noexcept;
  /// What waits so; false when something still does.
  bool send_waiting(Peer& peer) noexcept;

  /// False when there is no room for it now; else it has finished or is under way.
  bool start(Peer& peer, RequestOperation& request) noexcept;
  /// The peer has read the payload that it was offered.
  void receive_taken(Peer& peer, const Parsed& message) noexcept;
  /// The request whose payload was offered, if there is one, is over.
  void end_offer(Peer& peer, std::error_code outcome) noexcept;

 private:
  bool offer(Peer& peer, RequestOperation& request) noexcept;

  Endpoint& endpoint_;
  PeerHost& host_;
};

}  // namespace coracle::internals::verbs
