// Exchange: transfers between layouts of two ranks that do not reach each other's memory, by active messages. The first
// one carries the encoded layout; data goes packed, in pieces, of which each is unpacked as it comes. Where either end
// is a GPU's memory its engines pack and unpack, from and to pinned buffers.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/job/accelerator.hpp"
#include "runtime/layout/layout.hpp"
#include "runtime/rank/memory_domain.hpp"
#include "runtime/rank/peer_event.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/request.hpp"

namespace coracle::internals::scattered {

/// One rank's (`rank.local<Exchange>()`); its thread only.
class Exchange final : public LayoutMover, private LossObserver {
 public:
  /// Data of one message. Several are on the way at a time, each with a buffer of its own.
  static constexpr std::size_t kPieceBytes = 64 * 1024;
  static constexpr std::size_t kPiecesAtOnce = 4;

  explicit Exchange(Rank& rank);
  ~Exchange() = default;

  Task<> put(ScatteredSource source, RemoteAddress origin, const Layout& layout, std::uint64_t count,
             std::uint64_t bytes) override;
  Task<> get(RemoteAddress origin, const Layout& layout, std::uint64_t count, ScatteredTarget target,
             std::uint64_t bytes) override;
  /// For tests: asks `peer` by any words (but for the serial number) and any payload; throws what put and get would.
  Task<> ask(std::uint32_t peer, bool put, std::array<std::uint64_t, TransferHeader::kWords> words,
             std::span<const std::byte> payload);
  /// Puts of peers of which some data is still to come.
  std::size_t incoming() const noexcept { return incoming_.size(); }
  /// For tests: the serial number of the transfer that this rank has begun last.
  std::uint64_t asked_last() const noexcept { return serial_; }
  /// For tests: what else peers may send.
  static void on_piece(Rank& rank, const Message& message);
  static void on_data(Rank& rank, const Message& message);

 private:
  /// A transfer that this rank has asked for; it lives in the frame of put() or get().
  struct PendingTransfer {
    PendingTransfer(Exchange& of, const char* what, std::uint32_t peer);
    ~PendingTransfer() { exchange.asking_.erase(serial); }
    PendingTransfer(const PendingTransfer&) = delete;
    PendingTransfer& operator=(const PendingTransfer&) = delete;
    Exchange& exchange;
    const std::uint64_t serial;
    PeerEvent ended;
    std::error_code refused;
    const ScatteredTarget* target = nullptr;  // of a get
    std::uint64_t missing = 0;                // of it, in bytes
    std::uint64_t bytes = 0;
    Scope* landings = nullptr;  // of what comes for a GPU's memory
  };
  /// Data on its way to a peer.
  struct Outgoing {
    Exchange& exchange;
    std::uint32_t peer;
    Handler handler;
    std::uint64_t serial;
    ScatteredSource source;
    std::uint64_t bytes;
    std::uint64_t position;           // of what is to be sent next
    const Extent* extent;             // of memory that may be withdrawn; or null
    MemoryDomain* devices = nullptr;  // where the source is a GPU's memory
    bool stopped = false;
  };

  static void on_put(Rank& rank, const Message& message);
  static void on_get(Rank& rank, const Message& message);
  static void on_done(Rank& rank, const Message& message);

  static Task<> open_and_send(Scope& scope, Outgoing& out, std::span<const std::byte> payload,
                              const TransferHeader& header);
  static Task<> send_pieces(Scope& scope, Outgoing& out);
  static Task<> send_some(Outgoing& out);
  Task<> serve_get(std::uint32_t peer, TransferRequest asked);
  MemoryDomain* devices_of(const void* origin, const Layout& layout, std::uint64_t count) const;
  DeviceBuffer buffered(std::span<const std::byte> data) const;
  void land(std::uint32_t peer, std::uint64_t serial, std::uint64_t position, std::size_t bytes, DeviceBuffer data);
  Task<> land_put(std::uint32_t peer, std::uint64_t serial, std::uint64_t position, std::size_t bytes,
                  DeviceBuffer data);
  Task<> land_got(ScatteredTarget target, std::uint64_t position, std::size_t bytes, DeviceBuffer data);
  [[noreturn]] void throw_refused(const PendingTransfer& asking, const Extent& extent) const;

  /// Where an extent of this rank's memory begins; null: it does not exist, or is not for peers.
  std::byte* find(const Extent& extent, bool to_write) const noexcept;
  PendingTransfer* find_asking(const Message& message) noexcept;
  bool concerns(std::uint32_t) const noexcept override { return false; }  // nothing waits for it
  void lost(const Loss& loss) noexcept override;

  Rank& rank_;
  std::uint64_t serial_ = 0;
  std::uint64_t incoming_number_ = 0;
  std::unordered_map<std::uint64_t, PendingTransfer*> asking_;
  struct Incoming {
    TransferRequest asked;
    std::uint64_t missing;
    std::uint64_t number = 0;   // tells it from others of the same serial number, if its peer is out of its mind
    std::uint64_t landing = 0;  // pieces on their way to a GPU's memory
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Incoming> incoming_;  // by rank and serial number
};

}  // namespace coracle::internals::scattered
