// PacketReceiver: packets that have come, and the credits that are told for them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/core/containers.hpp"
#include "runtime/rank/message.hpp"
#include "runtime/rank/operation.hpp"
#include "transports/tca/dma_moves.hpp"

namespace coracle::internals::tca {

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

}  // namespace coracle::internals::tca
