// Puts, gets and atomics: from operations to work requests.
#include <arpa/inet.h>
#include <algorithm>
#include <cstring>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/slab_tags.hpp"
#include "transports/verbs/transport.hpp"

namespace coracle::internals::verbs {

RdmaTransfer& VerbsTransport::new_flight(Peer& peer) noexcept {
  if (free_flights_.empty()) free_flights_.push_back(&flights_.emplace_back());
  RdmaTransfer& flight = *free_flights_.back();
  free_flights_.pop_back();
  flight = RdmaTransfer();
  flight.peer = &peer;
  return flight;
}

/// What can be known here: the bounds of segments. Of other memory the peer judges.
std::error_code VerbsTransport::check(const Peer& peer, const Operation& operation) const noexcept {
  const std::uint64_t segment_bytes = region_.shape().segment_bytes;
  const auto outside = [&](const RemoteAddress& place, std::size_t bytes) {
    const std::uint64_t offset = place.offset & SlabTags::kOffsetMask;
    return place.rank != peer.rank ||
           (place.segment == RemoteAddress::kOwnSegment && (offset > segment_bytes || bytes > segment_bytes - offset));
  };
  if (outside(operation.remote, operation.bytes)) return Errc::out_of_segment;
  if (operation.signal_add > 0 && outside(operation.signal, sizeof(std::uint64_t))) return Errc::out_of_segment;
  return {};
}

/// False when there is no room for it now; else it has finished or is under way.
bool VerbsTransport::start_transfer(Peer& peer, Operation& operation) noexcept {
  if (const std::error_code error = check(peer, operation)) {
    finish(operation, error);
    return true;
  }
  if (operation.is_atomic()) return start_atomic(peer, operation);
  const bool put = operation.verb == Operation::Verb::put;
  if (operation.bytes == 0 && (!put || operation.signal_add == 0)) {
    finish(operation, {});
    return true;
  }
  if (!has_room(peer)) return false;
  RdmaTransfer& flight = new_flight(peer);
  flight.operation = &operation;
  flight.opcode = put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
  flight.local = static_cast<std::byte*>(operation.local);
  flight.bytes = operation.bytes;
  if (put && operation.signal_add > 0) set_signal(flight);
  std::error_code error;
  if (!prepare_local(flight, error)) {
    free_flights_.push_back(&flight);
    if (error) finish(operation, error);
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
void VerbsTransport::set_signal(RdmaTransfer& flight) noexcept {
  const Operation& operation = *flight.operation;
  const std::uint64_t number = (operation.signal.offset & SlabTags::kOffsetMask) / sizeof(Signal);
  const bool fits = operation.signal_add == 1 && operation.signal.segment == RemoteAddress::kOwnSegment &&
                    operation.signal.offset % sizeof(Signal) == 0 && number <= 0xffffffff;
  flight.signal = fits ? RdmaTransfer::Signal::immediate : RdmaTransfer::Signal::message;
  flight.immediate = static_cast<std::uint32_t>(number);
}

/// Finds a way for the device to reach the local side: none is needed inline; then the segment; a copy of what is
/// small; a registration. False with an error, or without when there is no slot at the moment.
bool VerbsTransport::prepare_local(RdmaTransfer& flight, std::error_code& error) noexcept {
  if (flight.bytes == 0) return true;
  const bool put = flight.opcode == IBV_WR_RDMA_WRITE;
  if (put && flight.bytes <= flight.peer->pair->inline_bytes_max()) {
    flight.send_inline = true;
    return true;
  }
  if (flight.local >= segment_ && flight.bytes <= region_.shape().segment_bytes &&
      flight.local <= segment_ + (region_.shape().segment_bytes - flight.bytes)) {
    flight.local_key = segment_region_->lkey;
    return true;
  }
  if (flight.bytes <= send_slots_.buffer_bytes()) {
    flight.slot = send_slots_.take();
    if (flight.slot == BufferPool::kNone) return false;
    std::byte* copy = send_slots_.data(flight.slot);
    if (put) std::memcpy(copy, flight.local, flight.bytes);
    flight.local = copy;
    flight.local_key = send_slots_.key();
    return true;
  }
  if (const int refused = registrations_.acquire(flight.local, flight.bytes, !put, flight.registration)) {
    error = {refused, std::generic_category()};
    return false;
  }
  flight.local_key = flight.registration->local_key();
  return true;
}

/// Soft-RoCE (Linux 6.1) was seen to complete a read of several packets, retried after a timeout, whose first bytes had
/// not come. There each read fits one packet, which comes or does not.
std::size_t VerbsTransport::part_bytes_max(ibv_wr_opcode opcode) const noexcept {
  constexpr std::size_t kPacketBytesMin = 256;
  if (port_.software && opcode == IBV_WR_RDMA_READ)
    return kPacketBytesMin << (static_cast<unsigned>(port_.attributes.active_mtu) - IBV_MTU_256);
  return std::min<std::size_t>(kPartBytesMax, port_.attributes.max_msg_sz);
}

/// Posts what there is room for; true when that is all.
bool VerbsTransport::post_parts(RdmaTransfer& flight) noexcept {
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
    if (!send_now(*flight.peer, WireType::signal, header, {})) return false;
  }
  flight.all_posted = true;
  if (flight.parts_out == 0) finish_flight(flight);
  return true;
}

bool VerbsTransport::post_part(RdmaTransfer& flight, std::size_t bytes, bool last) noexcept {
  Peer& peer = *flight.peer;
  if (!has_room(peer)) return false;
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
  ++outstanding_;
  peer.pair->add(request, bytes == 0 ? nullptr : &piece, {PostedRequest::What::part, BufferPool::kNone, &flight});
  return true;
}

void VerbsTransport::give_back_local(RdmaTransfer& flight) noexcept {
  if (flight.slot != BufferPool::kNone) send_slots_.give_back(flight.slot);
  if (flight.registration != nullptr) registrations_.release(*flight.registration);
}

/// No part is with the device any more.
void VerbsTransport::finish_flight(RdmaTransfer& flight) noexcept {
  Operation* operation = flight.operation;
  if (operation != nullptr && flight.slot != BufferPool::kNone && !flight.outcome) {
    if (flight.opcode == IBV_WR_RDMA_READ)
      std::memcpy(operation->local, send_slots_.data(flight.slot), flight.bytes);
    else if (flight.opcode != IBV_WR_RDMA_WRITE)
      std::memcpy(&operation->result, send_slots_.data(flight.slot), sizeof operation->result);
  }
  give_back_local(flight);
  if (flight.ticket != kNoTicket && flight.peer->state == Peer::State::ready)
    send(*flight.peer, WireType::release, {flight.ticket});
  if (operation == nullptr) landed(flight);
  const std::error_code outcome = flight.outcome;
  free_flights_.push_back(&flight);
  if (operation != nullptr) finish(*operation, outcome);
}

/// The device's atomics are used only where they are atomic against processors too: ranks of the peer's node use theirs
/// on the same place. Few devices say that of themselves; else the peer's processor does it.
bool VerbsTransport::start_atomic(Peer& peer, Operation& operation) noexcept {
  if (operation.remote.offset % operation.width != 0 && operation.remote.segment == RemoteAddress::kOwnSegment) {
    finish(operation, Errc::misaligned);
    return true;
  }
  // Of the others a device knows none, and a read is not an atomic to it: a load adds nothing.
  const bool is_known =
      operation.verb != Operation::Verb::modify || operation.modification.what() == Modification::What::load;
  if (peer.address.device_atomics == 0 || !is_known || operation.width != sizeof(std::uint64_t) ||
      operation.remote.segment != RemoteAddress::kOwnSegment)
    return call_atomic(peer, operation);
  if (!has_room(peer)) return false;
  const std::uint32_t slot = send_slots_.take();
  if (slot == BufferPool::kNone) return false;
  RdmaTransfer& flight = new_flight(peer);
  flight.operation = &operation;
  flight.opcode =
      operation.verb == Operation::Verb::compare_swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
  flight.slot = slot;
  flight.local = send_slots_.data(slot);
  flight.local_key = send_slots_.key();
  flight.bytes = sizeof(std::uint64_t);
  flight.remote = peer.address.segment_address + (operation.remote.offset & SlabTags::kOffsetMask);
  flight.remote_key = peer.address.segment_key;
  post_parts(flight);  // there is room for its only part
  return true;
}

}  // namespace coracle::internals::verbs
