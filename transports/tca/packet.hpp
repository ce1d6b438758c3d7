// Packets, and the area in which a rank's peers put them: for each peer a ring of slots, a word that counts what has
// arrived, and one for the credits of the ring that this rank fills there.
//
// Source: the TCA/PEACH2 GASNet (IPSJ HPC-156, 2016): packets in ring buffers at the receiver, written by DMA; payload
// and the word that announces it in one chained table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle::internals::tca {

enum class PacketType : std::uint8_t {
  request,      ///< An active message, or its beginning: `cookie` is the payload's length in all.
  more,         ///< The next part of the payload of the request before.
  reply,        ///< An active message in answer to one.
  data,         ///< Bytes for `place`.
  signal,       ///< Nothing but its signal.
  get,          ///< Asks for `length` bytes at `place`; they go to `to`, or come as packets of kind `got_data`.
  got_data,     ///< Bytes of a get, from `position` on.
  got,          ///< A get is over.
  atomic,       ///< An atomic at `place`.
  atomic_done,  ///< Its result.
};

inline constexpr unsigned kComparesAndSwaps = 256;
inline constexpr unsigned kModificationShift = 16;

/// The words of a packet beside its payload, by kind:
/// request, reply: the arguments; data, signal: place, signal, addend, signal's segment << 32 | place's segment;
/// get: place, length, to (~0: none), segment; got_data: position; got, atomic_done: result, error (to_wire());
/// atomic: place, operand, compare, width | kComparesAndSwaps or the code of a Modification << kModificationShift,
/// segment.
struct PacketHeader {
  PacketType kind = PacketType::signal;
  std::uint8_t words = 0;         ///< In use.
  std::uint8_t wants_credit = 0;  ///< The sender waits for its credit.
  std::uint8_t has_signal = 0;
  std::uint32_t bytes = 0;  ///< Of the payload in this packet.
  std::uint64_t cookie = 0;
  std::int64_t handler = 0;
  std::array<std::uint64_t, 5> word{};
};
static_assert(sizeof(PacketHeader) == 64);

/// A word that a peer writes, by DMA: as much as that moves at least.
struct alignas(16) Cell {
  std::uint64_t count = 0;
  std::uint64_t unused = 0;
};

struct alignas(64) PacketSlot {
  static constexpr std::size_t kPayloadBytes = 8192;
  PacketHeader header;
  std::array<std::byte, kPayloadBytes> payload;
};

/// In place of a count of credit requests: whoever fills this ring has given the ring's owner up for lost.
inline constexpr std::uint64_t kGivenUp = ~std::uint64_t{0};

/// What of a rank's inbox belongs to this transport: registered memory.
class PacketArea {
 public:
  /// Packets on the way to one peer.
  static constexpr std::uint64_t kSlots = 8;
  static constexpr std::size_t kSendBuffers = 32;
  static constexpr std::size_t kBounces = 4;
  static constexpr std::size_t kBounceBytes = 64 * 1024;
  /// Each has a ring at each other.
  static constexpr std::uint32_t kRanksMax = 256;

  /// Where a packet is put together.
  struct SendBuffer {
    PacketSlot slot;
    Cell count;  ///< What is written to the peer's `arrived` once the packet is there.
  };

  PacketArea(std::byte* begin, std::uint32_t ranks) noexcept : begin_(begin), ranks_(ranks) {}
  static std::uint64_t bytes(std::uint32_t ranks) noexcept {
    return cells_bytes(ranks) + ranks * kSlots * sizeof(PacketSlot) + kSendBuffers * sizeof(SendBuffer) +
           kBounces * kBounceBytes;
  }

  /// Whether `place`, which lies in the area, is one of the words below: what their owner looks at when it is woken.
  bool has_cell(const std::byte* place) const noexcept { return place < begin_ + 3 * ranks_ * sizeof(Cell); }
  /// Packets that have come from `peer`: written by it.
  Cell& arrived(std::uint32_t peer) const noexcept { return cells()[peer]; }
  /// Packets that `peer` has taken of ours: written by it.
  Cell& credit(std::uint32_t peer) const noexcept { return cells()[ranks_ + peer]; }
  /// Raised by `peer` when it has no credits: they are to be told again. kGivenUp: it has lost this rank.
  Cell& credit_request(std::uint32_t peer) const noexcept { return cells()[2 * ranks_ + peer]; }
  PacketSlot& slot(std::uint32_t peer, std::uint64_t number) const noexcept {
    return reinterpret_cast<PacketSlot*>(begin_ + cells_bytes(ranks_))[peer * kSlots + number % kSlots];
  }
  SendBuffer& send_buffer(std::size_t index) const noexcept {
    return reinterpret_cast<SendBuffer*>(begin_ + cells_bytes(ranks_) + ranks_ * kSlots * sizeof(PacketSlot))[index];
  }
  std::byte* bounce(std::size_t index) const noexcept {
    return begin_ + cells_bytes(ranks_) + ranks_ * kSlots * sizeof(PacketSlot) + kSendBuffers * sizeof(SendBuffer) +
           index * kBounceBytes;
  }

 private:
  static std::uint64_t cells_bytes(std::uint32_t ranks) noexcept { return (3 * ranks * sizeof(Cell) + 63) / 64 * 64; }
  Cell* cells() const noexcept { return reinterpret_cast<Cell*>(begin_); }

  std::byte* begin_;
  std::uint32_t ranks_;
};

}  // namespace coracle::internals::tca
