// PacketReceiver: packets that have come, and the credits that are told for them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/rank/message.hpp"
#include "transports/tca/asked_operations.hpp"
#include "transports/tca/dma_moves.hpp"

namespace coracle::internals::tca {

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

}  // namespace coracle::internals::tca
