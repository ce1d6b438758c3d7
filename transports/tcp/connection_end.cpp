// Putting frames into the outbox.
#include "transports/tcp/connection_end.hpp"

namespace coracle::internals::tcp {

void ConnectionEnd::emit(FrameType type, std::span<const std::uint64_t> words, std::uint64_t payload_bytes) {
  std::array<std::byte, kHeadBytesMax> bytes;
  outbox_.copy(std::span(bytes).first(write_head(bytes, check_, type, words, payload_bytes)));
}

bool ConnectionEnd::emit(FrameType type, std::span<const std::uint64_t> words, std::span<const std::byte> payload,
                         Operation* operation) {
  emit(type, words, payload.size());
  if (payload.size() > Outbox::kCopiedBytesMax) {
    outbox_.refer(payload, operation);
    return false;
  }
  outbox_.copy(payload);
  return true;
}

std::string ConnectionEnd::why() const {
  if (reader_.failed()) return reader_.reason();
  if (error_) return error_.message();
  return "the connection ended without a goodbye: its process has ended, or is out of reach";
}

}  // namespace coracle::internals::tcp
