// The TCA transport: put, get, atomics and messages over a device that only writes (PEACH2). Bytes of puts and gets go
// by DMA where they can; everything that the receiver has a part in travels as packets.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): modes, packets in ring buffers with credits, gets by request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "runtime/core/timer.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"
#include "transports/direct/node_losses.hpp"
#include "transports/tca/packet_receiver.hpp"

namespace coracle::internals::tca {

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
