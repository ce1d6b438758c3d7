// The verbs transport: RDMA to ranks of other nodes over reliable connections, one for each pair of ranks that have
// met. Puts and gets go straight between registered memory; signals are raised by the target's processor when an
// immediate value comes; messages go through a shared receive queue, and larger payloads are fetched by their receiver.
#pragma once

#include <list>
#include <unordered_map>

#include "runtime/core/error.hpp"
#include "runtime/core/timer.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/rank/rank.hpp"
#include "transports/verbs/peer.hpp"

namespace coracle::internals::verbs {

class VerbsTransport final : public Transport, private Timer, private LossObserver {
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

  /// For tests.
  const RegistrationCache& registrations() const noexcept { return registrations_; }
  const Port& port() const noexcept { return port_; }
  /// For tests: the peer's segment seems to have another key from now on.
  void spoil_key(std::uint32_t peer) noexcept { peer_of(peer).address.segment_key ^= 0x5a5a00; }
  /// For tests: as if the peer's device were atomic against its processors.
  void believe_in_device_atomics(std::uint32_t peer) noexcept { peer_of(peer).address.device_atomics = 1; }

  // --- messages of the control transport (handshake.cpp) ---
  static void on_introduction(Rank& rank, const Message& message);
  static void on_ready(Rank& rank, const Message& message);
  static void on_refusal(Rank& rank, const Message& message);

 private:
  /// A message to a peer's handshake, over the control transport.
  struct ControlMessage final : RequestOperation {
    explicit ControlMessage(std::uint32_t peer) noexcept : RequestOperation(peer) {}
    QueuePairAddress address{};
  };
  /// An answer that is awaited; its place in the table is the cookie.
  struct Pending {
    Peer* peer = nullptr;  // null: free
    RdmaTransfer* flight = nullptr;
    Operation* operation = nullptr;
  };
  /// Memory of ours that a peer may reach until it says that it is done.
  struct Grant {
    std::uint32_t peer = 0;
    Registration* registration = nullptr;  // null: free
  };

  // transport.cpp
  Peer& peer_of(std::uint32_t rank);
  bool has_room(const Peer& peer) const noexcept;
  void pump(Peer& peer) noexcept;
  bool pump_queues(Peer& peer) noexcept;
  void post_dirty() noexcept;
  void serve_stalled() noexcept;
  bool poll_completions() noexcept;
  void completed(const ibv_wc& completion) noexcept;
  void sent_done(const PostedRequest& sent, std::error_code outcome) noexcept;
  void finish(Operation& operation, std::error_code outcome) noexcept;

  // handshake.cpp
  void meet(Peer& peer) noexcept;
  bool make_pair(Peer& peer) noexcept;
  void connect(Peer& peer, const QueuePairAddress& address) noexcept;
  void send_control(std::uint32_t peer, Handler handler, const QueuePairAddress* address) noexcept;
  void reap_control() noexcept;
  void put_off(Peer& peer, std::error_code why) noexcept;
  std::uint8_t acknowledgement_timeout() const noexcept;
  void leave_to_control(Peer& peer) noexcept;

  // one_sided.cpp
  bool start_transfer(Peer& peer, Operation& operation) noexcept;
  std::error_code check(const Peer& peer, const Operation& operation) const noexcept;
  bool start_atomic(Peer& peer, Operation& operation) noexcept;
  bool call_atomic(Peer& peer, Operation& operation) noexcept;
  bool prepare_local(RdmaTransfer& flight, std::error_code& error) noexcept;
  void set_signal(RdmaTransfer& flight) noexcept;
  std::size_t part_bytes_max(ibv_wr_opcode opcode) const noexcept;
  bool post_parts(RdmaTransfer& flight) noexcept;
  bool post_part(RdmaTransfer& flight, std::size_t bytes, bool last) noexcept;
  void finish_flight(RdmaTransfer& flight) noexcept;
  RdmaTransfer& new_flight(Peer& peer) noexcept;
  void give_back_local(RdmaTransfer& flight) noexcept;

  // messages.cpp
  bool send_now(Peer& peer, WireType kind, const MessageHeader& header, std::span<const std::byte> payload) noexcept;
  bool send_slot(Peer& peer, std::uint32_t slot, std::size_t bytes) noexcept;
  void send(Peer& peer, WireType kind, std::initializer_list<std::uint64_t> arguments,
            std::span<const std::byte> payload = {}) noexcept;
  void send(Peer& peer, WireType kind, const MessageHeader& header, std::span<const std::byte> payload) noexcept;
  bool start_request(Peer& peer, RequestOperation& request) noexcept;
  bool offer(Peer& peer, RequestOperation& request) noexcept;
  void received(const ibv_wc& completion) noexcept;
  void receive_message(Peer& peer, const Parsed& message) noexcept;
  void receive_offer(Peer& peer, const Parsed& message) noexcept;
  void receive_taken(Peer& peer, const Parsed& message) noexcept;
  void landed(RdmaTransfer& flight) noexcept;
  void raise(Peer& peer, const RemoteAddress& place, std::uint64_t add) noexcept;
  void post_receives() noexcept;

  // remote_keys.cpp
  std::uint64_t await_answer(Peer& peer, RdmaTransfer* flight, Operation* operation) noexcept;
  Pending take_answer(Peer& peer, std::uint64_t cookie) noexcept;
  bool ask(RdmaTransfer& flight, const Operation& operation) noexcept;
  void serve_ask(Peer& peer, const Parsed& message) noexcept;
  void receive_grant(Peer& peer, const Parsed& message) noexcept;
  void receive_release(Peer& peer, const Parsed& message) noexcept;
  void serve_atomic(Peer& peer, const Parsed& message) noexcept;
  void receive_atomic_reply(Peer& peer, const Parsed& message) noexcept;

  // failure.cpp
  void lose(Peer& peer, const char* why, std::error_code code = Errc::peer_lost) noexcept;
  void let_go(Peer& peer, std::error_code code) noexcept;
  void fail_awaited(Peer& peer, std::error_code code) noexcept;
  void fire() noexcept override;
  bool concerns(std::uint32_t peer) const noexcept override;
  void lost(const Loss&) noexcept override {}  // peer_lost() comes
  void watch_silence() noexcept;

  static constexpr std::uint32_t kReceiveSlots = 256;
  static constexpr std::uint32_t kSendSlots = 256;
  static constexpr std::uint32_t kOutstandingMax = 4096;  // of all queue pairs: the completion queue has room for them
  static constexpr std::size_t kPartBytesMax = std::size_t{8} << 20;
  static constexpr std::uint64_t kOfReceive = std::uint64_t{1} << 63;

  Rank& rank_;
  const JobRegion& region_;
  Transport& control_;
  Port port_;
  const bool must_;
  std::byte* const segment_;
  MemoryRegion segment_region_;
  BufferPool receive_slots_;
  BufferPool send_slots_;
  CompletionChannel channel_;
  CompletionQueue completions_;
  SharedReceiveQueue receives_;
  RegistrationCache registrations_;
  ReceiveBuffers receive_buffers_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null: not met
  std::unordered_map<std::uint32_t, Peer*> by_pair_;
  std::vector<Peer*> dirty_;
  std::vector<Peer*> stalled_;
  std::vector<std::uint32_t> receives_to_post_;
  std::deque<RdmaTransfer> flights_;  // all there ever were
  std::vector<RdmaTransfer*> free_flights_;
  std::deque<Pending> pending_;
  std::vector<std::uint64_t> free_pending_;
  std::deque<Grant> grants_;
  std::vector<std::uint64_t> free_grants_;
  std::list<ControlMessage> control_messages_;
  std::size_t in_flight_ = 0;
  std::uint32_t outstanding_ = 0;
  bool notified_ = false;  // the next completion makes the channel readable
  bool leaving_ = false;
  std::uint64_t leave_until_ns_ = 0;
};

/// Where the handlers of the control transport find the transport of their rank.
struct TransportOfRank {
  explicit TransportOfRank(Rank&) {}
  VerbsTransport* transport = nullptr;
};

}  // namespace coracle::internals::verbs
