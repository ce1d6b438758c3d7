#include "transports/verbs/verbs_transport.hpp"

#include <algorithm>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals::verbs {

bool MessageSender::send_now(Peer& peer, WireType kind, const MessageHeader& header,
                             std::span<const std::byte> payload) noexcept {
  if (!endpoint_.has_room(*peer.pair)) return false;
  const std::uint32_t slot = endpoint_.send_slots().take();
  if (slot == BufferPool::kNone) return false;
  endpoint_.add_message(*peer.pair, slot, encode(endpoint_.send_slots().data(slot), kind, header, payload));
  return true;
}

void MessageSender::send(Peer& peer, WireType kind, const MessageHeader& header,
                         std::span<const std::byte> payload) noexcept {
  if (peer.state == Peer::State::lost) return;
  const bool now = peer.state == Peer::State::ready && peer.messages.empty() && send_now(peer, kind, header, payload);
  if (!now) {
    std::vector<std::byte>& message = peer.messages.emplace_back(kMessageBytesMax);
    message.resize(encode(message.data(), kind, header, payload));
  }
  if (peer.state == Peer::State::ready) host_.pump(peer);
}

void MessageSender::send(Peer& peer, WireType kind, std::initializer_list<std::uint64_t> arguments) noexcept {
  MessageHeader header;
  header.argument_count = static_cast<std::uint32_t>(arguments.size());
  std::copy(arguments.begin(), arguments.end(), header.arguments.begin());
  send(peer, kind, header, {});
}

bool MessageSender::send_waiting(Peer& peer) noexcept {
  for (; !peer.messages.empty(); peer.messages.pop_front()) {
    const std::vector<std::byte>& message = peer.messages.front();
    if (!endpoint_.has_room(*peer.pair)) return false;
    const std::uint32_t slot = endpoint_.send_slots().take();
    if (slot == BufferPool::kNone) return false;
    std::copy(message.begin(), message.end(), endpoint_.send_slots().data(slot));
    endpoint_.add_message(*peer.pair, slot, message.size());
  }
  return true;
}

bool MessageSender::start(Peer& peer, RequestOperation& request) noexcept {
  if (request.bytes > kEagerBytesMax) return offer(peer, request);
  const std::span payload(static_cast<const std::byte*>(request.local), request.bytes);
  if (!send_now(peer, WireType::request, request.header, payload)) return false;
  host_.finish(request, {});
  return true;
}

/// The receiver reads the payload from where it lies, and says when it has.
bool MessageSender::offer(Peer& peer, RequestOperation& request) noexcept {
  if (!endpoint_.has_room(*peer.pair)) return false;
  Registration* memory = nullptr;
  if (const int error = endpoint_.registrations().acquire(request.local, request.bytes, false, memory)) {
    host_.finish(request, {error, std::generic_category()});
    return true;
  }
  const RemoteBuffer place{reinterpret_cast<std::uint64_t>(request.local), request.bytes, memory->remote_key(), 0};
  if (!send_now(peer, WireType::offer, request.header, std::as_bytes(std::span(&place, 1)))) {
    endpoint_.registrations().release(*memory);
    return false;
  }
  peer.offered = &request;
  peer.offered_memory = memory;
  host_.await_answer(peer);
  return true;
}

void MessageSender::receive_taken(Peer& peer, const Parsed& message) noexcept {
  if (peer.offered == nullptr) return host_.lose(peer, kMalformed);
  --peer.awaited;
  end_offer(peer, code_from_wire(message.header.arguments[0]));
  host_.pump(peer);
}

void MessageSender::end_offer(Peer& peer, std::error_code outcome) noexcept {
  if (peer.offered == nullptr) return;
  endpoint_.registrations().release(*std::exchange(peer.offered_memory, nullptr));
  host_.finish(*std::exchange(peer.offered, nullptr), outcome);
}

}  // namespace coracle::internals::verbs
