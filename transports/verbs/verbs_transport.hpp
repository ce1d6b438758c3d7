// The verbs transport: RDMA to ranks of other nodes over reliable connections, one for each pair of ranks that have
// met. Puts and gets go straight between registered memory; signals are raised by the target's processor when an
// immediate value comes; messages go through a shared receive queue, and larger payloads are fetched by their receiver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <list>
#include <memory>
#include <span>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "runtime/core/containers.hpp"
#include "runtime/core/timer.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/rank/rank.hpp"
#include "transports/verbs/endpoint.hpp"
#include "transports/verbs/peer.hpp"

namespace coracle::internals::verbs {

// MessageSender: requests, replies and what the protocol itself says, as messages to peers.

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

// RdmaTransfers: puts, gets and atomics of this rank, and the fetching of offered payloads: from operations to work
// requests, or to questions that the peer answers.

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

// MemoryServer: what peers ask of this rank's memory: to reach what lies outside its segment, and atomics. Each says
// when it is done with memory that it was granted: so no key outlives what it was given for; that the registration
// itself may be kept is this rank's affair.

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

// Connections: the peers that this rank has met, and how it meets them: both sides send each other what it takes to
// connect, by messages over the control transport, and each says when it is ready to receive. It makes no difference
// who begins, or whether both do. And peers that are silent, though they owe an answer, are written to.

class Connections final : private Timer, private LossObserver {
 public:
  /// All must outlive it. `must`: a peer without RDMA is lost, rather than left to `control`.
  Connections(Rank& rank, Transport& control, Endpoint& endpoint, PeerHost& host, bool must);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  Peer& peer_of(std::uint32_t rank);
  /// Null when the connection has been given up.
  Peer* peer_of_pair(std::uint32_t number) const noexcept;
  /// By rank; null: not met.
  const std::vector<std::unique_ptr<Peer>>& peers() const noexcept { return peers_; }
  bool any() const noexcept { return !by_pair_.empty(); }

  /// For the first operation to a peer.
  void meet(Peer& peer) noexcept;
  /// Control messages that are over.
  void poll() noexcept;
  /// Gives up our end.
  void close(Peer& peer) noexcept;
  /// While answers are awaited, the timer runs.
  void watch_silence() noexcept;

 private:
  /// A message to a peer's handshake, over the control transport.
  struct ControlMessage final : RequestOperation {
    explicit ControlMessage(std::uint32_t peer) noexcept : RequestOperation(peer) {}
    QueuePairAddress address{};
  };
  /// Where the handlers find the connections of their rank.
  struct TransportOfRank {
    explicit TransportOfRank(Rank&) {}
    Connections* connections = nullptr;
  };

  static void on_introduction(Rank& rank, const Message& message);
  static void on_ready(Rank& rank, const Message& message);
  static void on_refusal(Rank& rank, const Message& message);

  bool make_pair(Peer& peer) noexcept;
  void connect(Peer& peer, const QueuePairAddress& address) noexcept;
  void send_control(std::uint32_t peer, Handler handler, const QueuePairAddress* address) noexcept;
  void put_off(Peer& peer, std::error_code why) noexcept;
  std::uint8_t acknowledgement_timeout() const noexcept;
  std::uint64_t silence_ns() const noexcept { return rank_.core().region().shape().network.silence_limit_ns; }

  void fire() noexcept override;
  void ask_after(Peer& peer) noexcept;
  bool concerns(std::uint32_t peer) const noexcept override;
  void lost(const Loss&) noexcept override {}  // Transport::peer_lost() comes

  Rank& rank_;
  Transport& control_;
  Endpoint& endpoint_;
  PeerHost& host_;
  const bool must_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::uint32_t, Peer*> by_pair_;
  std::list<ControlMessage> control_messages_;
};

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
