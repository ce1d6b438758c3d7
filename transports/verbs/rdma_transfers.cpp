#include "transports/verbs/rdma_transfers.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/slab_tags.hpp"

namespace coracle::internals::verbs {
namespace {

constexpr std::size_t kPartBytesMax = std::size_t{8} << 20;

}  // namespace

RdmaTransfer& RdmaTransfers::new_flight(Peer& peer) noexcept {
  if (free_flights_.empty()) free_flights_.push_back(&flights_.emplace_back());
  RdmaTransfer& flight = *free_flights_.back();
  free_flights_.pop_back();
  flight = RdmaTransfer();
  flight.peer = &peer;
  return flight;
}

/// What can be known here: the bounds of segments. Of other memory the peer judges.
std::error_code RdmaTransfers::check(const Peer& peer, const Operation& operation) const noexcept {
  const std::uint64_t segment_bytes = endpoint_.segment().size();
  const auto outside = [&](const RemoteAddress& place, std::size_t bytes) {
    const std::uint64_t offset = place.offset & SlabTags::kOffsetMask;
    return place.rank != peer.rank ||
           (place.segment == RemoteAddress::kOwnSegment && (offset > segment_bytes || bytes > segment_bytes - offset));
  };
  if (outside(operation.remote, operation.bytes)) return Errc::out_of_segment;
  if (operation.signal_add > 0 && outside(operation.signal, sizeof(std::uint64_t))) return Errc::out_of_segment;
  return {};
}

bool RdmaTransfers::start(Peer& peer, Operation& operation) noexcept {
  if (const std::error_code error = check(peer, operation)) {
    host_.finish(operation, error);
    return true;
  }
  return operation.is_atomic() ? start_atomic(peer, operation) : start_transfer(peer, operation);
}

bool RdmaTransfers::start_transfer(Peer& peer, Operation& operation) noexcept {
  const bool put = operation.verb == Operation::Verb::put;
  if (operation.bytes == 0 && (!put || operation.signal_add == 0)) {
    host_.finish(operation, {});
    return true;
  }
  if (!endpoint_.has_room(*peer.pair)) return false;
  RdmaTransfer& flight = new_flight(peer);
  flight.operation = &operation;
  flight.opcode = put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
  flight.local = static_cast<std::byte*>(operation.local);
  flight.bytes = operation.bytes;
  if (put && operation.signal_add > 0) set_signal(flight);
  std::error_code error;
  if (!prepare_local(flight, error)) {
    free_flights_.push_back(&flight);
    if (error) host_.finish(operation, error);
    return static_cast<bool>(error);
  }
  if (operation.remote.segment == RemoteAddress::kOwnSegment || operation.bytes == 0) {
    flight.remote = peer.address.segment_address + (operation.remote.offset & SlabTags::kOffsetMask);
    flight.remote_key = peer.address.segment_key;
    if (!post_parts(flight)) peer.flights.push_back(&flight);
    return true;
  }
  if (ask(flight, operation)) return true;
  give_back_local(flight);
  free_flights_.push_back(&flight);
  return false;
}

/// A signal that is raised by one and lies in the segment fits the immediate value: its number. Others need a message.
void RdmaTransfers::set_signal(RdmaTransfer& flight) noexcept {
  const Operation& operation = *flight.operation;
  const std::uint64_t number = (operation.signal.offset & SlabTags::kOffsetMask) / sizeof(Signal);
  const bool fits = operation.signal_add == 1 && operation.signal.segment == RemoteAddress::kOwnSegment &&
                    operation.signal.offset % sizeof(Signal) == 0 && number <= 0xffffffff;
  flight.signal = fits ? RdmaTransfer::Signal::immediate : RdmaTransfer::Signal::message;
  flight.immediate = static_cast<std::uint32_t>(number);
}

/// Finds a way for the device to reach the local side: none is needed inline; then the segment; a copy of what is
/// small; a registration. False with an error, or without when there is no slot at the moment.
bool RdmaTransfers::prepare_local(RdmaTransfer& flight, std::error_code& error) noexcept {
  if (flight.bytes == 0) return true;
  const bool put = flight.opcode == IBV_WR_RDMA_WRITE;
  if (put && flight.bytes <= flight.peer->pair->inline_bytes_max()) {
    flight.send_inline = true;
    return true;
  }
  if (endpoint_.is_in_segment(flight.local, flight.bytes)) {
    flight.local_key = endpoint_.segment_region().lkey;
    return true;
  }
  BufferPool& slots = endpoint_.send_slots();
  if (flight.bytes <= slots.buffer_bytes()) {
    flight.slot = slots.take();
    if (flight.slot == BufferPool::kNone) return false;
    std::byte* copy = slots.data(flight.slot);
    if (put) std::memcpy(copy, flight.local, flight.bytes);
    flight.local = copy;
    flight.local_key = slots.key();
    return true;
  }
  if (const int refused = endpoint_.registrations().acquire(flight.local, flight.bytes, !put, flight.registration)) {
    error = {refused, std::generic_category()};
    return false;
  }
  flight.local_key = flight.registration->local_key();
  return true;
}

/// Soft-RoCE (Linux 6.1) was seen to complete a read of several packets, retried after a timeout, whose first bytes had
/// not come. There each read fits one packet, which comes or does not.
std::size_t RdmaTransfers::part_bytes_max(ibv_wr_opcode opcode) const noexcept {
  constexpr std::size_t kPacketBytesMin = 256;
  if (endpoint_.port().software && opcode == IBV_WR_RDMA_READ)
    return kPacketBytesMin << (static_cast<unsigned>(endpoint_.port().attributes.active_mtu) - IBV_MTU_256);
  return std::min<std::size_t>(kPartBytesMax, endpoint_.port().attributes.max_msg_sz);
}

/// Posts what there is room for; true when that is all.
bool RdmaTransfers::post_parts(RdmaTransfer& flight) noexcept {
  const std::size_t part_max = part_bytes_max(flight.opcode);
  while (flight.posted_bytes < flight.bytes) {
    const std::size_t bytes = std::min(part_max, flight.bytes - flight.posted_bytes);
    const bool last = flight.posted_bytes + bytes == flight.bytes;
    if (!post_part(flight, bytes, last)) return false;
  }
  if (flight.bytes == 0 && flight.signal == RdmaTransfer::Signal::immediate && !post_part(flight, 0, true))
    return false;
  if (flight.signal == RdmaTransfer::Signal::message) {
    // Behind the data in the same queue: it is received after they have landed.
    const Operation& operation = *flight.operation;
    MessageHeader header;
    header.argument_count = 3;
    header.arguments = {operation.signal.segment, operation.signal.offset, operation.signal_add};
    if (!sender_.send_now(*flight.peer, WireType::signal, header, {})) return false;
  }
  flight.all_posted = true;
  if (flight.parts_out == 0) finish(flight);
  return true;
}

bool RdmaTransfers::post_part(RdmaTransfer& flight, std::size_t bytes, bool last) noexcept {
  Peer& peer = *flight.peer;
  if (!endpoint_.has_room(*peer.pair)) return false;
  constexpr std::size_t kUrgentBytes = 4096;  // the device may as well begin with it
  peer.urgent |= bytes >= kUrgentBytes;
  ibv_send_wr request{};
  request.opcode = flight.opcode;
  request.send_flags = flight.send_inline ? static_cast<unsigned>(IBV_SEND_INLINE) : 0;
  if (last && flight.signal == RdmaTransfer::Signal::immediate) {
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = htonl(flight.immediate);
  }
  if (flight.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || flight.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    const Operation& operation = *flight.operation;
    const bool add = flight.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    const std::uint64_t addend = operation.verb == Operation::Verb::modify ? 0 : operation.operand;  // a load adds 0
    request.wr.atomic = {flight.remote, add ? addend : operation.compare, operation.operand, flight.remote_key};
  } else {
    request.wr.rdma = {flight.remote + flight.posted_bytes, flight.remote_key};
  }
  const ibv_sge piece{reinterpret_cast<std::uint64_t>(flight.local + flight.posted_bytes),
                      static_cast<std::uint32_t>(bytes), flight.local_key};
  flight.posted_bytes += bytes;
  ++flight.parts_out;
  endpoint_.add(*peer.pair, request, bytes == 0 ? nullptr : &piece, {.flight = &flight});
  return true;
}

void RdmaTransfers::give_back_local(RdmaTransfer& flight) noexcept {
  if (flight.slot != BufferPool::kNone) endpoint_.send_slots().give_back(flight.slot);
  if (flight.registration != nullptr) endpoint_.registrations().release(*flight.registration);
}

void RdmaTransfers::part_done(RdmaTransfer& flight, std::error_code outcome) noexcept {
  --flight.parts_out;
  if (!flight.outcome) flight.outcome = outcome;
  if (flight.parts_out == 0 && flight.all_posted) finish(flight);
}

void RdmaTransfers::finish(RdmaTransfer& flight) noexcept {
  Operation* operation = flight.operation;
  if (operation != nullptr && flight.slot != BufferPool::kNone && !flight.outcome) {
    const std::byte* copy = endpoint_.send_slots().data(flight.slot);
    if (flight.opcode == IBV_WR_RDMA_READ)
      std::memcpy(operation->local, copy, flight.bytes);
    else if (flight.opcode != IBV_WR_RDMA_WRITE)
      std::memcpy(&operation->result, copy, sizeof operation->result);
  }
  give_back_local(flight);
  if (flight.ticket != kNoTicket && flight.peer->state == Peer::State::ready)
    sender_.send(*flight.peer, WireType::release, {flight.ticket});
  if (operation == nullptr) land(flight);
  const std::error_code outcome = flight.outcome;
  free_flights_.push_back(&flight);
  if (operation != nullptr) host_.finish(*operation, outcome);
}

/// The device's atomics are used only where they are atomic against processors too: ranks of the peer's node use theirs
/// on the same place. Few devices say that of themselves; else the peer's processor does it.
bool RdmaTransfers::start_atomic(Peer& peer, Operation& operation) noexcept {
  const bool in_segment = operation.remote.segment == RemoteAddress::kOwnSegment;
  if (operation.remote.offset % operation.width != 0 && in_segment) {
    host_.finish(operation, Errc::misaligned);
    return true;
  }
  // Of the others a device knows none, and a read is not an atomic to it: a load adds nothing.
  const bool is_known =
      operation.verb != Operation::Verb::modify || operation.modification.what() == Modification::What::load;
  const bool by_device =
      peer.address.device_atomics != 0 && is_known && operation.width == sizeof(std::uint64_t) && in_segment;
  return by_device ? atomic_by_device(peer, operation) : atomic_by_call(peer, operation);
}

bool RdmaTransfers::atomic_by_device(Peer& peer, Operation& operation) noexcept {
  if (!endpoint_.has_room(*peer.pair)) return false;
  BufferPool& slots = endpoint_.send_slots();
  const std::uint32_t slot = slots.take();
  if (slot == BufferPool::kNone) return false;
  RdmaTransfer& flight = new_flight(peer);
  flight.operation = &operation;
  flight.opcode =
      operation.verb == Operation::Verb::compare_swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
  flight.slot = slot;
  flight.local = slots.data(slot);
  flight.local_key = slots.key();
  flight.bytes = sizeof(std::uint64_t);
  flight.remote = peer.address.segment_address + (operation.remote.offset & SlabTags::kOffsetMask);
  flight.remote_key = peer.address.segment_key;
  post_parts(flight);  // there is room for its only part
  return true;
}

bool RdmaTransfers::atomic_by_call(Peer& peer, Operation& operation) noexcept {
  AtomicCall call{};
  call.cookie = await_answer({.peer = &peer, .operation = &operation});
  call.offset = operation.remote.offset;
  call.segment = operation.remote.segment;
  call.operand = operation.operand;
  call.compare = operation.compare;
  call.width = operation.width;
  call.is_compare_swap = operation.verb == Operation::Verb::compare_swap ? 1 : 0;
  call.modification = operation.modification.code();
  if (sender_.send_now(peer, WireType::atomic, MessageHeader(), std::as_bytes(std::span(&call, 1)))) return true;
  take_answer(peer, call.cookie);
  return false;
}

void RdmaTransfers::receive_atomic_reply(Peer& peer, const Parsed& message) noexcept {
  Operation* operation = take_answer(peer, message.header.arguments[0]).operation;
  if (operation == nullptr) return host_.lose(peer, kMalformed);
  operation->result = message.header.arguments[2];
  host_.finish(*operation, outcome_from_wire(message.header.arguments[1]));
}

std::uint64_t RdmaTransfers::await_answer(const Pending& pending) noexcept {
  const std::uint32_t cookie = pending_.take();
  pending_[cookie] = pending;
  host_.await_answer(*pending.peer);
  return cookie;
}

/// Empty when the peer was asked nothing under this number.
RdmaTransfers::Pending RdmaTransfers::take_answer(Peer& peer, std::uint64_t cookie) noexcept {
  if (!pending_.knows(cookie) || pending_[cookie].peer != &peer) return {};
  pending_.give_back(static_cast<std::uint32_t>(cookie));
  --peer.awaited;
  return std::exchange(pending_[cookie], {});
}

void RdmaTransfers::fail_awaited(Peer& peer, std::error_code code) noexcept {
  for (std::uint32_t cookie = 0; cookie < pending_.size(); ++cookie) {
    const Pending pending = take_answer(peer, cookie);
    if (pending.operation != nullptr) host_.finish(*pending.operation, code);
    if (pending.flight == nullptr) continue;
    pending.flight->outcome = code;
    finish(*pending.flight);
  }
}

/// Where memory outside segments lies and by which key it is reached only its owner knows: it is asked for each
/// transfer, and keeps the memory registered until it is told that the transfer is over.
bool RdmaTransfers::ask(RdmaTransfer& flight, const Operation& operation) noexcept {
  Peer& peer = *flight.peer;
  const std::uint64_t cookie = await_answer({.peer = &peer, .flight = &flight});
  MessageHeader header;
  header.argument_count = 4;
  header.arguments = {cookie, operation.remote.segment | (flight.opcode == IBV_WR_RDMA_WRITE ? kWrites : 0),
                      operation.remote.offset, operation.bytes};
  if (sender_.send_now(peer, WireType::ask, header, {})) return true;
  take_answer(peer, cookie);
  return false;
}

void RdmaTransfers::receive_grant(Peer& peer, const Parsed& message) noexcept {
  const auto& [cookie, outcome, address, key, ticket] = message.header.arguments;
  RdmaTransfer* flight = take_answer(peer, cookie).flight;
  if (flight == nullptr) return host_.lose(peer, kMalformed);
  flight->outcome = outcome_from_wire(outcome);
  if (flight->outcome) return finish(*flight);
  flight->remote = address;
  flight->remote_key = static_cast<std::uint32_t>(key);
  flight->ticket = ticket;
  peer.flights.push_back(flight);
  host_.pump(peer);
}

void RdmaTransfers::fetch(Peer& peer, const Parsed& message) noexcept {
  constexpr std::uint64_t kRemoteBufferBytesMax = std::uint64_t{1} << 40;
  RemoteBuffer place;
  if (message.payload.size() != sizeof place) return host_.lose(peer, kMalformed);
  std::memcpy(&place, message.payload.data(), sizeof place);
  if (place.bytes == 0 || place.bytes > kRemoteBufferBytesMax) return host_.lose(peer, kMalformed);
  RdmaTransfer& flight = new_flight(peer);
  try {
    flight.landing = endpoint_.landing_places().take(place.bytes);
  } catch (const Error& error) {
    free_flights_.push_back(&flight);
    return sender_.send(peer, WireType::taken, {to_wire(error.code())});
  }
  flight.header = message.header;
  flight.opcode = IBV_WR_RDMA_READ;
  flight.local = flight.landing->data();
  flight.local_key = flight.landing->key();
  flight.bytes = place.bytes;
  flight.remote = place.address;
  flight.remote_key = place.key;
  if (!peer.flights.empty() || !post_parts(flight)) peer.flights.push_back(&flight);
  host_.pump(peer);
}

/// The payload has come: the message is delivered, and its sender told.
void RdmaTransfers::land(RdmaTransfer& flight) noexcept {
  if (!flight.outcome) {
    host_.deliver(*flight.peer, flight.header, {flight.landing->data(), flight.bytes});
    sender_.send(*flight.peer, WireType::taken, {0});
  }
  endpoint_.landing_places().give_back(std::move(flight.landing));
}

}  // namespace coracle::internals::verbs
