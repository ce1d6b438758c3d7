// MemoryServer: what peers ask of this rank's memory: to reach what lies outside its segment, and atomics. Each says
// when it is done with memory that it was granted: so no key outlives what it was given for; that the registration
// itself may be kept is this rank's affair.
#pragma once

#include <cstdint>

#include "runtime/core/containers.hpp"
#include "runtime/rank/rank.hpp"
#include "transports/verbs/message_sender.hpp"

namespace coracle::internals::verbs {

class MemoryServer {
 public:
  /// All must outlive it.
  MemoryServer(Rank& rank, Endpoint& endpoint, MessageSender& sender, PeerHost& host) noexcept
      : rank_(rank), endpoint_(endpoint), sender_(sender), host_(host) {}

  void serve_ask(Peer& peer, const Parsed& message) noexcept;
  void serve_atomic(Peer& peer, const Parsed& message) noexcept;
  void receive_release(Peer& peer, const Parsed& message) noexcept;
  /// The peer is lost, and reaches nothing any more.
  void drop(const Peer& peer) noexcept;

 private:
  struct Grant {
    std::uint32_t peer = 0;
    Registration* registration = nullptr;  // null: free
  };

  bool is_of(const Peer& peer, std::uint64_t ticket) const noexcept {
    return grants_.knows(ticket) && grants_[ticket].registration != nullptr && grants_[ticket].peer == peer.rank;
  }
  void end(std::uint64_t ticket) noexcept;

  Rank& rank_;
  Endpoint& endpoint_;
  MessageSender& sender_;
  PeerHost& host_;
  Numbered<Grant> grants_;  // by their tickets
};

}  // namespace coracle::internals::verbs
