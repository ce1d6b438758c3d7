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
#include "runtime/rank/operation.hpp"
#include "transports/tca/dma_device.hpp"
#include "transports/tca/dma_engine.hpp"
#include "transports/tca/tca_memory.hpp"

namespace coracle::internals::tca {

// PacketSender: packets on their way: from the queues of the peers into send buffers, and from there by tables of
// several.

/// What surrounds the parts of the TCA transport: the whole.
class TransferHost {
 public:
  virtual void finish(Operation& operation, std::error_code outcome) noexcept = 0;
  /// The peer has taken all packets of a put, whose bytes are there.
  virtual void confirmed(Operation& put) noexcept = 0;
  /// Something is on its way that may get stuck: it is looked after, also when nothing happens.
  virtual void look_after() noexcept = 0;
  /// The device carries no packets any more, to nobody.
  virtual void packets_failed() noexcept = 0;

 protected:
  ~TransferHost() = default;
};

/// The get that bytes are for, and the segment of this rank that they lie in; of a put's neither says anything.
struct Answer {
  std::uint64_t cookie = 0;
  std::uint32_t segment = RemoteAddress::kOwnSegment;
};

/// Something to send to a peer: one packet, or as many as its bytes need.
struct Outgoing {
  PacketHeader header{};
  const std::byte* source = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t position = 0;             ///< Of what has been sent.
  Operation* operation = nullptr;         ///< Ends with it.
  Answer answer{};                        ///< To a get, if `source` is its memory.
  Descriptor ahead{nullptr, nullptr, 0};  ///< Goes in front, from memory to memory; of no bytes: nothing does.
  std::vector<std::byte> owned{};         ///< Where `source` is, if it is a copy.
};

class PacketSender {
 public:
  /// Packets all go on one channel, since their order counts.
  static constexpr unsigned kChannel = 0;

  /// All must outlive it.
  PacketSender(Rank& rank, const TcaMemory& memory, RemoteDmaDevice& device, DmaEngine& engine, TransferHost& host);

  void send(std::uint32_t peer, Outgoing outgoing) noexcept;
  /// Fills the batch that is open with what may go.
  bool pump() noexcept;
  /// Rings the doorbell for what has gathered, if the packets' channel is free.
  void flush() noexcept;
  /// Puts whose last packet has been taken are over.
  bool confirm(std::uint32_t peer) noexcept;
  /// Asks the peer for credits, if something waits for them.
  bool ask_for_credits(std::uint32_t peer) noexcept;
  /// The peer is lost: what is for it ends, now or with the batch that may be reading its buffer.
  void lose(std::uint32_t peer) noexcept;

  /// Whether a packet waits, or has not been taken by the peer.
  bool depends_on(std::uint32_t peer) const noexcept;
  bool has_queued() const noexcept { return queued_ > 0; }
  /// Whether there is nothing to send any more, nor on its way.
  bool idle() const noexcept;
  /// How many packets found the ring of their peer full when it was their turn.
  std::uint64_t full_rings() const noexcept { return full_rings_; }

 private:
  /// From here on a packet's payload is read by the device where it is, rather than copied into the send buffer.
  static constexpr std::size_t kInPlaceBytesMin = 1024;

  /// An operation that has ended, as far as its packets go, once its peer has taken `number` of them.
  struct Unconfirmed {
    std::uint64_t number;
    Operation* operation;
  };
  struct Peer {
    RingQueue<Outgoing> queue;
    RingQueue<Unconfirmed> unconfirmed;
    std::uint64_t sent = 0;
    std::uint64_t waited_at = ~std::uint64_t{0};  // `sent`, when the ring was last found full
    std::uint64_t credit_requests = 0;
  };
  /// What of a batch its owner may withdraw until the doorbell rings.
  struct Revocable {
    std::size_t descriptor;  // in the chain
    PacketArea::SendBuffer* send_buffer;
    bool is_payload;           // of the packet in the send buffer; else it goes ahead of that
    Operation* put = nullptr;  // whose bytes it is, if it goes ahead
  };
  /// Packets that go by one doorbell.
  struct Batch final : DmaTransfer {
    void ended(bool worked) noexcept override { sender->end_batch(*this, worked); }
    PacketSender* sender = nullptr;
    std::vector<Descriptor> chain;
    std::vector<std::size_t> send_buffers;
    std::vector<Revocable> revocables;
    std::vector<Operation*> puts;  // whose bytes go with it, or have their last parts in it
    bool on_its_way = false;
  };

  bool pump(std::uint32_t peer) noexcept;
  std::uint64_t credit(std::uint32_t peer) const noexcept;
  bool fill(Batch& batch, std::uint32_t peer, Outgoing& outgoing, PacketArea::SendBuffer& send_buffer) noexcept;
  void end_answer(std::uint32_t peer, std::uint64_t cookie) noexcept;
  bool device_takes(const Descriptor& descriptor) const noexcept;
  void drop_withdrawn(Batch& batch, bool all) noexcept;
  void withdraw(PacketHeader& packet, Operation* put) noexcept;
  void fail_left_out(Batch& batch) noexcept;
  void end_batch(Batch& batch, bool worked) noexcept;
  void empty(Batch& batch, std::error_code outcome) noexcept;
  void end_with_batch(Operation& operation) noexcept;
  void drop_queue(Peer& to, std::error_code why) noexcept;
  void fail() noexcept;

  Rank& rank_;
  const TcaMemory& memory_;
  RemoteDmaDevice& device_;
  DmaEngine& engine_;
  TransferHost& host_;
  const PacketArea area_;
  std::vector<Peer> peers_;  // by rank
  std::array<Batch, 2> batches_;
  std::size_t open_batch_ = 0;  // is filled; the other may be on its way
  bool failed_ = false;         // for good
  std::vector<std::size_t> free_send_buffers_;
  std::size_t queued_ = 0;  // things in all queues
  std::uint64_t full_rings_ = 0;
};

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
  void send_done(PacketType kind, std::uint64_t cookie, std::uint32_t peer, std::uint64_t result,
                 std::error_code error) noexcept;

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
