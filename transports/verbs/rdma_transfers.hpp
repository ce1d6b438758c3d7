// RdmaTransfers: puts, gets and atomics of this rank, and the fetching of offered payloads: from operations to work
// requests, or to questions that the peer answers.
#pragma once

#include <cstddef>
#include <deque>
#include <system_error>
#include <vector>

#include "runtime/core/containers.hpp"
#include "transports/verbs/message_sender.hpp"

namespace coracle::internals::verbs {

class RdmaTransfers {
 public:
  /// All must outlive it.
  RdmaTransfers(Endpoint& endpoint, MessageSender& sender, PeerHost& host) noexcept
      : endpoint_(endpoint), sender_(sender), host_(host) {}

  /// False when there is no room for it now; else it has finished or is under way.
  bool start(Peer& peer, Operation& operation) noexcept;
  /// The payload that a message of the peer offers.
  void fetch(Peer& peer, const Parsed& message) noexcept;
  /// Where the memory lies that was asked for, and by which key it is reached.
  void receive_grant(Peer& peer, const Parsed& message) noexcept;
  void receive_atomic_reply(Peer& peer, const Parsed& message) noexcept;

  /// Posts what there is room for; true when that is all.
  bool post_parts(RdmaTransfer& transfer) noexcept;
  /// A part is with the device no more.
  void part_done(RdmaTransfer& transfer, std::error_code outcome) noexcept;
  /// No part is with the device any more.
  void finish(RdmaTransfer& transfer) noexcept;
  /// The peer answers no more.
  void fail_awaited(Peer& peer, std::error_code code) noexcept;

 private:
  /// What waits for an answer. Its number goes with the question, as a cookie.
  struct Pending {
    Peer* peer = nullptr;  // null: none is awaited
    RdmaTransfer* transfer = nullptr;
    Operation* operation = nullptr;  // instead
  };

  std::uint64_t await_answer(const Pending& pending) noexcept;
  Pending take_answer(Peer& peer, std::uint64_t cookie) noexcept;
  std::error_code check(const Peer& peer, const Operation& operation) const noexcept;
  bool start_transfer(Peer& peer, Operation& operation) noexcept;
  bool start_atomic(Peer& peer, Operation& operation) noexcept;
  bool atomic_by_device(Peer& peer, Operation& operation) noexcept;
  bool atomic_by_call(Peer& peer, Operation& operation) noexcept;
  RdmaTransfer& new_transfer(Peer& peer) noexcept;
  void set_signal(RdmaTransfer& transfer) noexcept;
  bool prepare_local(RdmaTransfer& transfer, std::error_code& error) noexcept;
  bool ask(RdmaTransfer& transfer, const Operation& operation) noexcept;
  std::size_t part_bytes_max(ibv_wr_opcode opcode) const noexcept;
  bool post_part(RdmaTransfer& transfer, std::size_t bytes, bool last) noexcept;
  void give_back_local(RdmaTransfer& transfer) noexcept;
  void land(RdmaTransfer& transfer) noexcept;

  Endpoint& endpoint_;
  MessageSender& sender_;
  PeerHost& host_;
  std::deque<RdmaTransfer> all_;  // all there ever were
  std::vector<RdmaTransfer*> free_;
  Numbered<Pending> pending_;
};

}  // namespace coracle::internals::verbs
