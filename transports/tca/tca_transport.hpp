// The TCA transport: put, get, atomics and messages over a device that only writes (PEACH2). Bytes of puts and gets go
// by DMA where they can; everything that the receiver has a part in travels as packets.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): modes, packets in ring buffers with credits, gets by request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/containers.hpp"
#include "runtime/core/timer.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/operation.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"
#include "transports/direct/node_losses.hpp"
#include "transports/tca/dma_moves.hpp"

namespace coracle::internals::tca {

// PacketReceiver: packets that have come, and the credits that are told for them.

/// Gets and atomics that a packet of their peer will end. The operation's number goes with the question, as a cookie,
/// and how often the number was given: late answers are for nobody.
class AskedOperations {
 public:
  explicit AskedOperations(std::uint32_t ranks) : counts_(ranks) {}

  std::uint64_t add(Operation& operation) {
    const std::uint32_t number = all_.take();
    Asked& asked = all_[number];
    asked.operation = &operation;
    ++counts_[operation.remote.rank];
    return std::uint64_t{++asked.generation} << 32 | number;
  }
  /// Null when it has ended before.
  Operation* find(std::uint64_t cookie) const noexcept {
    const auto number = static_cast<std::uint32_t>(cookie);
    return all_.knows(number) && all_[number].generation == cookie >> 32 ? all_[number].operation : nullptr;
  }
  /// Likewise; it is answered for good.
  Operation* take(std::uint64_t cookie) noexcept {
    Operation* operation = find(cookie);
    if (operation == nullptr) return nullptr;
    const auto number = static_cast<std::uint32_t>(cookie);
    all_[number].operation = nullptr;
    all_.give_back(number);
    --counts_[operation->remote.rank];
    return operation;
  }
  std::size_t count(std::uint32_t peer) const noexcept { return counts_[peer]; }
  /// `each` is told of all that this peer was asked for, which are taken.
  template <class Each>
  void take_all(std::uint32_t peer, Each&& each) {
    for (std::uint32_t number = 0; number < all_.size() && counts_[peer] > 0; ++number) {
      const Asked& asked = all_[number];
      if (asked.operation != nullptr && asked.operation->remote.rank == peer)
        each(*take(std::uint64_t{asked.generation} << 32 | number));
    }
  }

 private:
  struct Asked {
    Operation* operation = nullptr;  // null: free
    std::uint32_t generation = 0;
  };
  Numbered<Asked> all_;
  std::vector<std::size_t> counts_;  // by peer
};

class PacketReceiver {
 public:
  /// All must outlive it. `replies`: the way back for messages.
  PacketReceiver(Rank& rank, const TcaMemory& memory, RemoteDmaDevice& device, DmaMoves& moves, AskedOperations& asked,
                 TransferHost& host, ReplySender& replies);

  bool receive() noexcept;
  bool receive(std::uint32_t peer) noexcept;
  /// The peer is lost: the message that was coming from it is not finished.
  void forget(std::uint32_t peer) noexcept;

 private:
  struct Peer {
    std::uint64_t taken = 0;
    std::uint64_t told = 0;            // credits
    std::uint64_t credit_request = 0;  // the peer's, as last seen
    MessageHeader message;             // whose payload is coming in parts
    std::vector<std::byte> payload;
    std::uint64_t payload_bytes = 0;  // of the whole; 0: none is coming
  };

  void tell_credits(std::uint32_t peer) noexcept;
  void take(std::uint32_t peer, const PacketSlot& slot) noexcept;
  void take_message(std::uint32_t peer, const PacketSlot& slot) noexcept;
  void take_data(const PacketSlot& slot) noexcept;
  void take_get(std::uint32_t peer, const PacketHeader& header) noexcept;
  void take_atomic(std::uint32_t peer, const PacketHeader& header) noexcept;

  Rank& rank_;
  const TcaMemory& memory_;
  RemoteDmaDevice& device_;
  DmaMoves& moves_;
  AskedOperations& asked_;
  TransferHost& host_;
  ReplySender& replies_;
  const PacketArea area_;
  std::vector<Peer> peers_;  // by rank
};

class TcaTransport final : public Transport, private TransferHost, private Timer {
 public:
  /// What only the placement can do; where there is none, in real time, nothing.
  class Platform {
   public:
    virtual ~Platform() = default;
    /// A rank is to look at its flags (see Transport::wake).
    virtual void wake(std::uint32_t rank) noexcept = 0;
    virtual std::uint64_t occupy(Scheduler& loop, std::uint64_t duration_ns) noexcept = 0;
  };

  /// `device` reaches the memory of all ranks of the region. Throws Error (unsupported) for too many ranks.
  TcaTransport(Rank& rank, std::unique_ptr<RemoteDmaDevice> device, const DmaOptions& options = {},
               std::unique_ptr<Platform> platform = nullptr);
  ~TcaTransport() override;

  const char* name() const noexcept override { return "tca"; }
  TransportTraits traits() const noexcept override;
  void submit(Operation& operation) noexcept override;
  bool submit_strided(StridedOperation& put) noexcept override;
  void reply(std::uint32_t peer, const MessageHeader& header, std::span<const std::byte> payload) noexcept override;
  std::size_t reply_bytes_max() const noexcept override { return PacketSlot::kPayloadBytes; }
  std::size_t in_flight() const noexcept override { return in_flight_; }
  void peer_lost(std::uint32_t peer) noexcept override;
  bool poll() noexcept override;
  bool leave() noexcept override;
  void wake(std::uint32_t rank) noexcept override;
  std::uint64_t occupy(Scheduler& loop, std::uint64_t duration_ns) noexcept override;

  /// Whether something here would end with the loss of `peer`: an operation, or a packet that it has not taken.
  bool depends_on(std::uint32_t peer) const noexcept;
  /// How many packets found the ring of their peer full when it was their turn.
  std::uint64_t full_rings() const noexcept { return sender_.full_rings(); }

  DmaEngine& engine() noexcept { return engine_; }
  RemoteDmaDevice& device() noexcept { return *device_; }
  const ModeCounts& modes() const noexcept { return moves_.modes(); }

 private:
  void finish(Operation& operation, std::error_code outcome) noexcept override;
  void confirmed(Operation& put) noexcept override { moves_.finish(put); }
  void look_after() noexcept override;
  void packets_failed() noexcept override;

  void send_message(std::uint32_t peer, PacketType kind, const MessageHeader& header, Outgoing outgoing) noexcept;
  void ask(Operation& operation, PacketHeader header) noexcept;
  void fire() noexcept override;
  void end_with_finished(std::uint32_t peer) noexcept;

  Rank& rank_;
  const TcaMemory memory_;
  NodeLosses losses_;
  std::unique_ptr<RemoteDmaDevice> device_;
  std::unique_ptr<Platform> platform_;
  DmaEngine engine_;
  PacketSender sender_;
  DmaMoves moves_;
  AskedOperations asked_;
  PacketReceiver receiver_;
  std::size_t in_flight_ = 0;
  std::uint64_t watch_pause_ns_ = 0;
  std::uint64_t look_at_ns_ = 0;
};

}  // namespace coracle::internals::tca
