// Writing and reading messages.
#include "transports/verbs/wire.hpp"

#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals::verbs {

std::size_t encode(std::byte* target, WireType kind, const MessageHeader& header,
                   std::span<const std::byte> payload) noexcept {
  CORACLE_ASSERT(payload.size() <= kEagerBytesMax, "a message of {} bytes", payload.size());
  const WireHeader wire{kind, static_cast<std::uint8_t>(header.argument_count), 0,
                        static_cast<std::uint32_t>(payload.size()), header.handler.to_wire()};
  std::memcpy(target, &wire, sizeof wire);
  const std::size_t arguments_bytes = header.argument_count * sizeof(std::uint64_t);
  std::memcpy(target + sizeof wire, header.arguments.data(), arguments_bytes);
  if (!payload.empty()) std::memcpy(target + sizeof wire + arguments_bytes, payload.data(), payload.size());
  return sizeof wire + arguments_bytes + payload.size();
}

std::optional<Parsed> parse(std::span<const std::byte> bytes) noexcept {
  WireHeader wire;
  if (bytes.size() < sizeof wire) return std::nullopt;
  std::memcpy(&wire, bytes.data(), sizeof wire);
  const std::size_t arguments_bytes = wire.argument_count * sizeof(std::uint64_t);
  if (wire.kind > kLastWireType || wire.argument_count > MessageHeader::kArgumentsMax ||
      bytes.size() != sizeof wire + arguments_bytes + wire.payload_bytes)
    return std::nullopt;
  Parsed parsed;
  parsed.kind = wire.kind;
  parsed.header.handler = HandlerId::from_wire(wire.handler);
  parsed.header.argument_count = wire.argument_count;
  // What a message of this kind needs and does not have is zero.
  parsed.header.arguments.fill(0);
  std::memcpy(parsed.header.arguments.data(), bytes.data() + sizeof wire, arguments_bytes);
  parsed.payload = bytes.subspan(sizeof wire + arguments_bytes);
  return parsed;
}

}  // namespace coracle::internals::verbs
