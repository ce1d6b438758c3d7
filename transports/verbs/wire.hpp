// What stands in a message between two ranks: a header, arguments, payload. Both ends run the same program on machines
// of the same kind; what comes in is checked against the message's length all the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/rank/message.hpp"

namespace coracle::internals::verbs {

enum class WireType : std::uint8_t {
  request,       ///< The handler's arguments and payload.
  reply,         ///< The same, from a handler.
  offer,         ///< A request whose payload (a RemoteBuffer) says where the receiver shall read the true one.
  taken,         ///< {outcome}: the offered payload may be reused.
  ask,           ///< {cookie, segment, offset, bytes}: where does this memory lie, and by which key?
  grant,         ///< {cookie, outcome, address, key, ticket}
  release,       ///< {ticket}: the granted memory is no longer in use.
  atomic,        ///< Payload: an AtomicCall.
  atomic_reply,  ///< {cookie, outcome, old value}
  signal,        ///< {segment, offset, add}
  bye,           ///< Nothing more comes.
};
inline constexpr auto kLastWireType = WireType::bye;

struct WireHeader {
  WireType kind;
  std::uint8_t argument_count;
  std::uint16_t unused;
  std::uint32_t payload_bytes;
  std::int64_t handler;
};

/// In Kind::ask, beside the segment's number: it is asked for a put.
inline constexpr std::uint64_t kWrites = std::uint64_t{1} << 32;

struct RemoteBuffer {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t key;
  std::uint32_t unused;
};

struct AtomicCall {
  std::uint64_t cookie;
  std::uint64_t offset;
  std::uint64_t operand;
  std::uint64_t compare;
  std::uint32_t segment;
  std::uint8_t width;
  std::uint8_t is_compare_swap;
  std::uint8_t modification;  ///< Code of a Modification; 0: adds integers, or compares and swaps.
  std::uint8_t unused;
};

/// Payload that goes with the message itself.
inline constexpr std::size_t kEagerBytesMax = 8192;
inline constexpr std::size_t kMessageBytesMax =
    sizeof(WireHeader) + MessageHeader::kArgumentsMax * sizeof(std::uint64_t) + kEagerBytesMax;

/// Why a peer is given up whose messages make no sense.
inline constexpr const char* kMalformed = "it sent a malformed message";

/// Writes the message into `target` (kMessageBytesMax); gives its length.
std::size_t encode(std::byte* target, WireType kind, const MessageHeader& header,
                   std::span<const std::byte> payload) noexcept;

struct Parsed {
  WireType kind;
  MessageHeader header;
  std::span<const std::byte> payload;
};
/// Nothing when the bytes are no message.
std::optional<Parsed> parse(std::span<const std::byte> bytes) noexcept;

}  // namespace coracle::internals::verbs
