// The TCA transport: put, get, atomics and messages over a device that only writes (PEACH2). Bytes go in one of four
// modes, by what the two ends are: from memory to memory by DMA (MtoM), through a buffer at the sender (BtoM), at the
// receiver (MtoB), or at both (BtoB). Everything that the receiver has a part in travels as packets.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): modes, packets in ring buffers with credits, gets by request.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/ring_queue.hpp"
#include "runtime/job/address_map.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/transport.hpp"
#include "transports/direct/node_losses.hpp"
#include "transports/tca/dma_engine.hpp"
#include "transports/tca/packet.hpp"
#include "transports/tca/registered_memory.hpp"
#include "transports/tca/remote_dma_device.hpp"

namespace coracle::internals::tca {

/// How bytes of puts and answered gets have gone so far.
struct ModeCounts {
  std::uint64_t memory_to_memory = 0;
  std::uint64_t buffer_to_memory = 0;
  std::uint64_t memory_to_buffer = 0;
  std::uint64_t buffer_to_buffer = 0;
  std::uint64_t block_stride = 0;  ///< From memory to memory, too.
};

class TcaTransport final : public Transport {
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
  std::uint64_t full_rings() const noexcept { return full_rings_; }

  DmaEngine& engine() noexcept { return engine_; }
  RemoteDmaDevice& device() noexcept { return *device_; }
  const ModeCounts& modes() const noexcept { return modes_; }

 private:
  /// Packets all go on one channel, since their order counts.
  static constexpr unsigned kPacketChannel = 0;
  /// Shorter moves from memory to memory are not worth a table of their own when a packet goes along.
  static constexpr std::size_t kChainedBytesMax = 4096;
  /// From here on a packet's payload is read by the device where it is, rather than copied into the send buffer.
  static constexpr std::size_t kInPlaceBytesMin = 1024;

  /// The get that bytes are for, and the segment of this rank that they lie in; of a put's neither says anything.
  struct Answer {
    std::uint64_t cookie = 0;
    std::uint32_t segment = RemoteAddress::kOwnSegment;
  };
  /// Something to send to a peer: one packet, or as many as its bytes need.
  struct Outgoing {
    PacketHeader header;
    const std::byte* source = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t position = 0;             ///< Of what has been sent.
    Operation* operation = nullptr;         ///< Ends with it.
    Answer answer;                          ///< To a get, if `source` is its memory.
    Descriptor ahead{nullptr, nullptr, 0};  ///< Goes in front, from memory to memory; of no bytes: nothing does.
    std::vector<std::byte> owned;           ///< Where `source` is, if it is a copy.
  };
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
    std::size_t asked = 0;                        // operations that wait for the peer's answer
    std::size_t moves = 0;                        // that are under way to it
    // Of what comes from there:
    std::uint64_t taken = 0;
    std::uint64_t told = 0;             // credits
    std::uint64_t credit_request = 0;   // the peer's, as last seen
    std::uint64_t credit_requests = 0;  // ours
    MessageHeader message;              // whose payload is coming in parts
    std::vector<std::byte> payload;
    std::uint64_t payload_bytes = 0;  // of the whole; 0: none is coming
  };
  /// An operation that a packet of the peer will end.
  struct Asked {
    Operation* operation = nullptr;
    std::uint32_t generation = 0;
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
    void ended(bool worked) noexcept override { transport->end_batch(*this, worked); }
    TcaTransport* transport = nullptr;
    std::vector<Descriptor> chain;
    std::vector<std::size_t> send_buffers;
    std::vector<Revocable> revocables;
    std::vector<Operation*> puts;  // whose bytes go with it, or have their last parts in it
    bool on_its_way = false;
  };
  struct Move;
  /// What of a move the device has in hand.
  struct Chunk final : DmaTransfer {
    void ended(bool worked) noexcept override { move->transport->end_chunk(*this, worked); }
    Move* move = nullptr;
    int bounce = -1;  // through which it goes
    bool busy = false;
  };
  /// A put, or a get that is answered, from memory to memory by DMA, or through buffers here. What is left over at its
  /// ends goes by packets, after the rest.
  struct Move {
    TcaTransport* transport = nullptr;
    Operation* operation = nullptr;  // a put
    Answer answer;                   // or a get's
    std::uint32_t peer = 0;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
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
  struct LookTimer final : Timer {
    void fire() noexcept override { transport->look(); }
    TcaTransport* transport = nullptr;
  };

  // tca_transport.cpp: what is asked of this rank
  std::error_code check(const Operation& operation) const noexcept;
  std::byte* address_of(const RemoteAddress& place) const noexcept;
  bool is_registered(const std::byte* begin, std::size_t bytes) const noexcept;
  bool is_in_segment(const std::byte* begin, std::size_t bytes) const noexcept;
  void start_put(Operation& operation) noexcept;
  void start_request(RequestOperation& request) noexcept;
  void ask(Operation& operation, PacketHeader header) noexcept;
  Operation* answered(std::uint64_t cookie) noexcept;
  void finish(Operation& operation, std::error_code error) noexcept;
  void start_watch() noexcept;
  void look() noexcept;
  void end_with_finished(std::uint32_t peer) noexcept;
  void end_lost(Operation& operation) noexcept;
  void drop_queue(Peer& to, std::error_code why) noexcept;
  void end_asked(std::uint32_t peer, std::error_code why) noexcept;

  // moves.cpp: bytes of puts and answered gets
  void deliver(Operation* put, const Answer& answer, std::uint32_t peer, const std::byte* source, std::byte* target,
               std::uint64_t bytes) noexcept;
  void send_data(Operation* put, const Answer& answer, std::uint32_t peer, const std::byte* source, std::byte* target,
                 std::uint64_t bytes, bool last) noexcept;
  void begin_move(Operation* put, const Answer& answer, std::uint32_t peer, const std::byte* source, std::byte* target,
                  std::uint64_t bytes, bool buffered) noexcept;
  void chain_move(Operation* put, const Answer& answer, std::uint32_t peer, const Descriptor& whole) noexcept;
  Move& take_move(Operation* put, const Answer& answer, std::uint32_t peer) noexcept;
  void go_on(Move& move) noexcept;
  void start_chunk(Move& move, Chunk& chunk) noexcept;
  void rest_chunk(Chunk& chunk) noexcept;
  void end_chunk(Chunk& chunk, bool worked) noexcept;
  void end_waiting_moves(std::uint32_t peer) noexcept;
  void end_move(Move& move) noexcept;
  void finish_put(Operation& put) noexcept;
  void send_got(std::uint64_t cookie, std::uint32_t peer, int error) noexcept;
  void send_signal(const Operation& put) noexcept;

  // strided.cpp
  bool takes(const StridedOperation& put) const noexcept;

  // sending.cpp
  Peer& state_of(std::uint32_t peer) noexcept { return peers_[peer]; }
  void send(std::uint32_t peer, Outgoing outgoing) noexcept;
  bool pump() noexcept;
  bool pump(std::uint32_t peer) noexcept;
  void end_answer(std::uint32_t peer, std::uint64_t cookie) noexcept;
  bool fill(Batch& batch, std::uint32_t peer, Outgoing& outgoing, PacketArea::SendBuffer& send_buffer) noexcept;
  bool device_takes(const Descriptor& descriptor) const noexcept;
  void flush() noexcept;
  void drop_withdrawn(Batch& batch, bool all) noexcept;
  void fail_left_out(Batch& batch) noexcept;
  void end_batch(Batch& batch, bool worked) noexcept;
  void lose_all() noexcept;
  void withdraw(PacketHeader& packet, Operation* put) noexcept;
  bool confirm(std::uint32_t peer, Peer& from) noexcept;

  // receiving.cpp
  bool receive() noexcept;
  bool receive(std::uint32_t peer, Peer& from) noexcept;
  void take(std::uint32_t peer, Peer& from, const PacketSlot& slot) noexcept;
  void take_message(std::uint32_t peer, Peer& from, const PacketSlot& slot) noexcept;
  bool is_there(std::uint32_t segment, const std::byte* begin, std::uint64_t bytes) const noexcept;
  void take_data(const PacketSlot& slot) noexcept;
  void take_get(std::uint32_t peer, const PacketSlot& slot) noexcept;
  void take_atomic(std::uint32_t peer, const PacketSlot& slot) noexcept;
  void tell_credits(std::uint32_t peer, Peer& from) noexcept;

  PacketArea area_of(std::uint32_t rank) const noexcept;

  Rank& rank_;
  const JobRegion& region_;
  const AddressMap memory_;
  const RegisteredMemory registered_;
  const bool shares_memory_;
  NodeLosses losses_;
  std::unique_ptr<RemoteDmaDevice> device_;
  std::unique_ptr<Platform> platform_;
  DmaEngine engine_;
  const PacketArea area_;
  std::vector<Peer> peers_;
  std::array<Batch, 2> batches_;
  bool packets_failed_ = false;  // for good
  std::size_t open_batch_ = 0;   // is filled; the other may be on its way
  std::vector<std::size_t> free_send_buffers_;
  std::vector<int> free_bounces_;
  std::vector<std::unique_ptr<Move>> moves_;
  std::vector<Move*> free_moves_;
  RingQueue<Move*> waiting_moves_;  // for a buffer
  std::vector<Asked> asked_;
  std::vector<std::uint32_t> free_asked_;
  std::size_t in_flight_ = 0;
  std::size_t queued_ = 0;  // things in all peers' queues
  std::uint64_t full_rings_ = 0;
  ModeCounts modes_;
  LookTimer look_timer_;
  std::uint64_t watch_pause_ns_ = 0;
  std::uint64_t look_at_ns_ = 0;
};

}  // namespace coracle::internals::tca
