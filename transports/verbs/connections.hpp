// Connections: the peers that this rank has met, and how it meets them: both sides send each other what it takes to
// connect, by messages over the control transport, and each says when it is ready to receive. It makes no difference
// who begins, or whether both do. And peers that are silent, though they owe an answer, are written to.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/core/timer.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/peers.hpp"
#include "runtime/rank/rank.hpp"
#include "transports/verbs/endpoint.hpp"
#include "transports/verbs/peer.hpp"

namespace coracle::internals::verbs {

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

}  // namespace coracle::internals::verbs
