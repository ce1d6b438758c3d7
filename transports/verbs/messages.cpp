// Messages: requests, replies and what the protocol itself says, through the shared receive queue.
#include <arpa/inet.h>

#include <array>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "transports/verbs/transport.hpp"

namespace coracle::internals::verbs {

/// Encodes and posts it; false when there is no room now.
bool VerbsTransport::send_now(Peer& peer, WireType kind, const MessageHeader& header,
                              std::span<const std::byte> payload) noexcept {
  if (!has_room(peer)) return false;
  const std::uint32_t slot = send_slots_.take();
  if (slot == BufferPool::kNone) return false;
  const std::size_t bytes = encode(send_slots_.data(slot), kind, header, payload);
  return send_slot(peer, slot, bytes);
}

bool VerbsTransport::send_slot(Peer& peer, std::uint32_t slot, std::size_t bytes) noexcept {
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  request.send_flags = bytes <= peer.pair->inline_bytes_max() ? static_cast<unsigned>(IBV_SEND_INLINE) : 0;
  const ibv_sge piece{reinterpret_cast<std::uint64_t>(send_slots_.data(slot)), static_cast<std::uint32_t>(bytes),
                      send_slots_.key()};
  ++outstanding_;
  peer.pair->add(request, &piece, {PostedRequest::What::message, slot, nullptr});
  return true;
}

/// Of the protocol's own messages and replies none may be refused: without room they wait in memory. There are as many
/// as there are requests of the peer, which has a bounded number under way.
void VerbsTransport::send(Peer& peer, WireType kind, const MessageHeader& header,
                          std::span<const std::byte> payload) noexcept {
  if (peer.state == Peer::State::lost) return;
  const bool now = peer.state == Peer::State::ready && peer.messages.empty() && send_now(peer, kind, header, payload);
  if (!now) {
    std::vector<std::byte>& message = peer.messages.emplace_back(kMessageBytesMax);
    message.resize(encode(message.data(), kind, header, payload));
  }
  if (peer.state == Peer::State::ready) pump(peer);
}

void VerbsTransport::send(Peer& peer, WireType kind, std::initializer_list<std::uint64_t> arguments,
                          std::span<const std::byte> payload) noexcept {
  MessageHeader header;
  header.argument_count = static_cast<std::uint32_t>(arguments.size());
  std::copy(arguments.begin(), arguments.end(), header.arguments.begin());
  send(peer, kind, header, payload);
}

void VerbsTransport::reply(std::uint32_t peer, const MessageHeader& header,
                           std::span<const std::byte> payload) noexcept {
  send(peer_of(peer), WireType::reply, header, payload);
}

/// As start_transfer.
bool VerbsTransport::start_request(Peer& peer, RequestOperation& request) noexcept {
  if (request.bytes > kEagerBytesMax) return offer(peer, request);
  const std::span payload(static_cast<const std::byte*>(request.local), request.bytes);
  if (!send_now(peer, WireType::request, request.header, payload)) return false;
  finish(request, {});
  return true;
}

/// The receiver reads the payload from where it lies, and says when it has.
bool VerbsTransport::offer(Peer& peer, RequestOperation& request) noexcept {
  if (!has_room(peer)) return false;
  Registration* memory = nullptr;
  if (const int error = registrations_.acquire(request.local, request.bytes, false, memory)) {
    finish(request, {error, std::generic_category()});
    return true;
  }
  const RemoteBuffer place{reinterpret_cast<std::uint64_t>(request.local), request.bytes, memory->remote_key(), 0};
  if (!send_now(peer, WireType::offer, request.header, std::as_bytes(std::span(&place, 1)))) {
    registrations_.release(*memory);
    return false;
  }
  peer.offered = &request;
  peer.offered_memory = memory;
  ++peer.awaited;
  watch_silence();
  return true;
}

void VerbsTransport::receive_taken(Peer& peer, const Parsed& message) noexcept {
  if (peer.offered == nullptr) return lose(peer, kMalformed);
  --peer.awaited;
  registrations_.release(*std::exchange(peer.offered_memory, nullptr));
  finish(*std::exchange(peer.offered, nullptr), outcome_from_wire(message.header.arguments[0]));
  pump(peer);
}

void VerbsTransport::receive_offer(Peer& peer, const Parsed& message) noexcept {
  constexpr std::uint64_t kRemoteBufferBytesMax = std::uint64_t{1} << 40;
  RemoteBuffer place;
  if (message.payload.size() != sizeof place) return lose(peer, kMalformed);
  std::memcpy(&place, message.payload.data(), sizeof place);
  if (place.bytes == 0 || place.bytes > kRemoteBufferBytesMax) return lose(peer, kMalformed);
  RdmaTransfer& flight = new_flight(peer);
  try {
    flight.landing = receive_buffers_.take(place.bytes);
  } catch (const Error& error) {
    free_flights_.push_back(&flight);
    return send(peer, WireType::taken, {to_wire(error.code())});
  }
  flight.header = message.header;
  flight.opcode = IBV_WR_RDMA_READ;
  flight.local = flight.landing->data();
  flight.local_key = flight.landing->key();
  flight.bytes = place.bytes;
  flight.remote = place.address;
  flight.remote_key = place.key;
  if (!peer.flights.empty() || !post_parts(flight)) peer.flights.push_back(&flight);
  pump(peer);
}

/// The payload has come: the message is delivered, and its sender told.
void VerbsTransport::landed(RdmaTransfer& flight) noexcept {
  if (!flight.outcome) {
    const MessageHeader header = flight.header;
    rank_.core().deliver(header, Message(*this, flight.peer->rank, header, {flight.landing->data(), flight.bytes}));
    send(*flight.peer, WireType::taken, {0});
  }
  receive_buffers_.give_back(std::move(flight.landing));
}

void VerbsTransport::received(const ibv_wc& completion) noexcept {
  const auto slot = static_cast<std::uint32_t>(completion.wr_id & ~kOfReceive);
  const auto found = by_pair_.find(completion.qp_num);
  if (completion.status == IBV_WC_SUCCESS && found != by_pair_.end()) {
    Peer& peer = *found->second;
    peer.heard_ns = rank_.loop().now_ns();
    if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      raise(peer, {std::uint64_t{ntohl(completion.imm_data)} * sizeof(Signal), rank_.id(), RemoteAddress::kOwnSegment},
            1);
    } else if (const auto message = parse({receive_slots_.data(slot), completion.byte_len})) {
      receive_message(peer, *message);
    } else {
      lose(peer, kMalformed);
    }
  }
  receives_to_post_.push_back(slot);
  if (receives_to_post_.size() >= kReceiveSlots / 4) post_receives();
}

void VerbsTransport::receive_message(Peer& peer, const Parsed& message) noexcept {
  switch (message.kind) {
    case WireType::request:
    case WireType::reply:
      // After the program's end nobody is there to be told.
      if (!message.header.handler.valid()) return lose(peer, kMalformed);
      if (!leaving_) rank_.core().deliver(message.header, Message(*this, peer.rank, message.header, message.payload));
      return;
    case WireType::offer:
      if (!message.header.handler.valid()) return lose(peer, kMalformed);
      if (!leaving_) receive_offer(peer, message);
      return;
    case WireType::taken:
      return receive_taken(peer, message);
    case WireType::ask:
      return serve_ask(peer, message);
    case WireType::grant:
      return receive_grant(peer, message);
    case WireType::release:
      return receive_release(peer, message);
    case WireType::atomic:
      return serve_atomic(peer, message);
    case WireType::atomic_reply:
      return receive_atomic_reply(peer, message);
    case WireType::signal: {
      const auto& [segment, offset, add, none, nothing] = message.header.arguments;
      return raise(peer, {offset, rank_.id(), static_cast<std::uint32_t>(segment)}, add);
    }
    case WireType::bye:
      peer.said_bye = true;
      return;
  }
}

/// By this processor and not by the device: ranks of this node raise the same counter, and no device's addition is sure
/// to be atomic against theirs.
void VerbsTransport::raise(Peer& peer, const RemoteAddress& place, std::uint64_t add) noexcept {
  std::byte* counter = rank_.core().addresses().reach(place, sizeof(std::uint64_t));
  if (counter == nullptr || reinterpret_cast<std::uintptr_t>(counter) % alignof(std::uint64_t) != 0)
    return lose(peer, kMalformed);
  local::raise_signal(counter, add, region_.block(rank_.id()).doorbell);
}

void VerbsTransport::post_receives() noexcept {
  std::array<ibv_recv_wr, 32> chain;
  std::array<ibv_sge, 32> pieces;
  while (!receives_to_post_.empty()) {
    std::size_t count = 0;
    for (; count < chain.size() && !receives_to_post_.empty(); ++count) {
      const std::uint32_t slot = receives_to_post_.back();
      receives_to_post_.pop_back();
      pieces[count] = {reinterpret_cast<std::uint64_t>(receive_slots_.data(slot)), kMessageBytesMax,
                       receive_slots_.key()};
      chain[count] = {kOfReceive | slot, nullptr, &pieces[count], 1};
      if (count > 0) chain[count - 1].next = &chain[count];
    }
    ibv_recv_wr* bad = nullptr;
    const int error = ibv_post_srq_recv(receives_.get(), chain.data(), &bad);
    CORACLE_ASSERT(error == 0, "{}: posting receives failed: errno {}", port_.name, error);
  }
}

}  // namespace coracle::internals::verbs
