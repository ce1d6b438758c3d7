// DmaMoves: how the bytes of puts and of answered gets go: in one of four modes, by what the two ends are. From memory
// to memory by DMA (MtoM), through a buffer at the sender (BtoM), at the receiver (MtoB), or at both (BtoB).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include "runtime/core/containers.hpp"
#include "transports/tca/packet_sender.hpp"

namespace coracle::internals::tca {

/// How bytes of puts and answered gets have gone so far.
struct ModeCounts {
  std::uint64_t memory_to_memory = 0;
  std::uint64_t buffer_to_memory = 0;
  std::uint64_t memory_to_buffer = 0;
  std::uint64_t buffer_to_buffer = 0;
  std::uint64_t block_stride = 0;  ///< From memory to memory, too.
};

class DmaMoves {
 public:
  /// All must outlive it.
  DmaMoves(Rank& rank, const TcaMemory& memory, RemoteDmaDevice& device, DmaEngine& engine, PacketSender& sender,
           TransferHost& host);

  void put(Operation& put) noexcept;
  /// False, and nothing has happened: the device can't, or packing takes less time. Else it counts as taken.
  bool takes(const StridedOperation& put) const noexcept;
  void put_strided(StridedOperation& put) noexcept;
  /// Of a put: all bytes are there, and the signal has been sent that goes along.
  void finish(Operation& put) noexcept;
  /// What a peer has asked for: `bytes` from `source`, to registered memory at `target` there; ~0: by packets.
  void answer(const Answer& answer, std::uint32_t peer, const std::byte* source, std::uint64_t target,
              std::uint64_t bytes) noexcept;
  /// A get, or an atomic, of the peer is over.
  void send_done(PacketType kind, std::uint64_t cookie, std::uint32_t peer, std::uint64_t result, int error) noexcept;

  /// How many are under way to a peer.
  std::size_t count(std::uint32_t peer) const noexcept { return counts_[peer]; }
  /// Those to this peer that wait for a buffer need none any more.
  void end_waiting(std::uint32_t peer) noexcept;
  const ModeCounts& modes() const noexcept { return modes_; }

 private:
  /// Shorter moves from memory to memory are not worth a table of their own when a packet goes along.
  static constexpr std::size_t kChainedBytesMax = 4096;

  struct Move;
  /// What of a move the device has in hand.
  struct Chunk final : DmaTransfer {
    void ended(bool worked) noexcept override { move->moves->end_chunk(*this, worked); }
    Move* move = nullptr;
    int bounce = -1;  // through which it goes
    bool busy = false;
  };
  /// Whose bytes they are, and where they go.
  struct Bytes {
    Operation* put = nullptr;
    Answer answer{};  // or a get's
    std::uint32_t peer = 0;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::uint64_t count = 0;
  };
  /// A put, or a get that is answered, from memory to memory by DMA, or through buffers here. What is left over at its
  /// ends goes by packets, after the rest.
  struct Move {
    DmaMoves* moves = nullptr;
    Bytes whole;
    std::uint64_t head = 0;  // bytes in front of what is aligned
    std::uint64_t body = 0;
    std::uint64_t tail = 0;
    std::uint64_t position = 0;  // of the body: has been begun
    // Of a strided put, all of which is body: its first row, and how far apart the rows are.
    Descriptor row{nullptr, nullptr, 0};
    std::int64_t source_row_stride = 0;
    std::int64_t target_row_stride = 0;
    bool buffered = false;
    bool waits = false;  // for a buffer
    std::error_code failure;
    std::array<Chunk, 2> chunks;  // so that one is filled while the other travels

    bool is_strided() const noexcept { return row.block_bytes > 0; }
    Descriptor next_part() const noexcept;
  };

  void deliver(const Bytes& bytes) noexcept;
  void send_data(const Bytes& bytes, bool last) noexcept;
  void send_chained(const Bytes& bytes) noexcept;
  PacketHeader signal_of(const Operation& put) const noexcept;
  void begin(const Bytes& bytes, bool buffered) noexcept;
  Move& take(const Bytes& bytes) noexcept;
  void go_on(Move& move) noexcept;
  void start_chunk(Move& move, Chunk& chunk) noexcept;
  void rest_chunk(Chunk& chunk) noexcept;
  void end_chunk(Chunk& chunk, bool worked) noexcept;
  void end(Move& move) noexcept;

  Rank& rank_;
  const TcaMemory& memory_;
  RemoteDmaDevice& device_;
  DmaEngine& engine_;
  PacketSender& sender_;
  TransferHost& host_;
  const PacketArea area_;
  std::vector<int> free_bounces_;
  std::vector<std::unique_ptr<Move>> moves_;
  std::vector<Move*> free_moves_;
  RingQueue<Move*> waiting_;         // for a buffer
  std::vector<std::size_t> counts_;  // by peer
  ModeCounts modes_;
};

}  // namespace coracle::internals::tca
