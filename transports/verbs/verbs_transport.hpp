// The verbs transport: RDMA to ranks of other nodes over reliable connections, one for each pair of ranks that have
// met. Puts and gets go straight between registered memory; signals are raised by the target's processor when an
// immediate value comes; messages go through a shared receive queue, and larger payloads are fetched by their receiver.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/rank/rank.hpp"
#include "transports/verbs/connections.hpp"
#include "transports/verbs/memory_server.hpp"
#include "transports/verbs/rdma_transfers.hpp"

namespace coracle::internals::verbs {

class VerbsTransport final : public Transport, private PeerHost {
 public:
  /// Throws Error. See make_transport.
  VerbsTransport(Rank& rank, Transport& control, Port port, bool must);
  ~VerbsTransport() override;
  VerbsTransport(const VerbsTransport&) = delete;
  VerbsTransport& operator=(const VerbsTransport&) = delete;

  const char* name() const noexcept override { return "verbs"; }
  TransportTraits traits() const noexcept override;
  void submit(Operation& operation) noexcept override;
  void reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;
  std::size_t reply_bytes_max() const noexcept override { return kEagerBytesMax; }
  std::size_t in_flight() const noexcept override { return in_flight_; }
  bool poll() noexcept override;
  void about_to_sleep() noexcept override;
  void peer_lost(std::uint32_t peer) noexcept override;
  bool leave() noexcept override;

  Endpoint& endpoint() noexcept { return endpoint_; }
  Connections& connections() noexcept { return connections_; }

 private:
  void finish(Operation& operation, std::error_code outcome) noexcept override;
  void hand_over(Operation& operation) noexcept override;
  void lose(Peer& peer, const char* why, std::error_code code) noexcept override;
  void pump(Peer& peer) noexcept override;
  void await_answer(Peer& peer) noexcept override;
  void deliver(Peer& peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;

  bool pump_queues(Peer& peer) noexcept;
  void post_dirty() noexcept;
  void serve_stalled() noexcept;
  void completed(const ibv_wc& completion) noexcept;
  void received(const ibv_wc& completion) noexcept;
  void receive_message(Peer& peer, const Parsed& message) noexcept;
  void raise(Peer& peer, const RemoteAddress& place, std::uint64_t add) noexcept;
  void sent_done(const PostedRequest& sent, std::error_code outcome) noexcept;
  void let_go(Peer& peer, std::error_code code) noexcept;

  Rank& rank_;
  Transport& control_;
  Endpoint endpoint_;
  MessageSender sender_;
  RdmaTransfers transfers_;
  MemoryServer server_;
  Connections connections_;
  std::vector<Peer*> dirty_;
  std::vector<Peer*> stalled_;
  std::size_t in_flight_ = 0;
  bool leaving_ = false;
  std::uint64_t leave_until_ns_ = 0;
};

}  // namespace coracle::internals::verbs
