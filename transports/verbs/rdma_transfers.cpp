#include "transports/verbs/verbs_transport.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/slab.hpp"

namespace coracle::internals::verbs {
namespace {

constexpr std::size_t kPartBytesMax = std::size_t{8} << 20;

}  // namespace

RdmaTransfer& RdmaTransfers::new_transfer(Peer& peer) noexcept {
  if (free_.empty()) free_.push_back(&all_.emplace_back());
  RdmaTransfer& transfer = *free_.back();
  free_.pop_back();
  transfer = RdmaTransfer();
  transfer.peer = &peer;
  return transfer;
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
  RdmaTransfer& transfer = new_transfer(peer);
  transfer.operation = &operation;
  transfer.opcode = put ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
  transfer.local = static_cast<std::byte*>(operation.local);
  transfer.bytes = operation.bytes;
  if (put && operation.signal_add > 0) set_signal(transfer);
  std::error_code error;
  if (!prepare_local(transfer, error)) {
    free_.push_back(&transfer);
    if (error) host_.finish(operation, error);
    return static_cast<bool>(error);
  }
  if (operation.remote.segment == RemoteAddress::kOwnSegment || operation.bytes == 0) {
    transfer.remote = peer.address.segment_address + (operation.remote.offset & SlabTags::kOffsetMask);
    transfer.remote_key = peer.address.segment_key;
    if (!post_parts(transfer)) peer.unposted.push_back(&transfer);
    return true;
  }
  if (ask(transfer, operation)) return true;
  give_back_local(transfer);
  free_.push_back(&transfer);
  return false;
}

/// A signal that is raised by one and lies in the segment fits the immediate value: its number. Others need a message.
void RdmaTransfers::set_signal(RdmaTransfer& transfer) noexcept {
  const Operation& operation = *transfer.operation;
  const std::uint64_t number = (operation.signal.offset & SlabTags::kOffsetMask) / sizeof(Signal);
  const bool fits = operation.signal_add == 1 && operation.signal.segment == RemoteAddress::kOwnSegment &&
                    operation.signal.offset % sizeof(Signal) == 0 && number <= 0xffffffff;
  transfer.signal = fits ? RdmaTransfer::Signal::immediate : RdmaTransfer::Signal::message;
  transfer.immediate = static_cast<std::uint32_t>(number);
}

/// Finds a way for the device to reach the local side: none is needed inline; then the segment; a copy of what is
/// small; a registration. False with an error, or without when there is no slot at the moment.
bool RdmaTransfers::prepare_local(RdmaTransfer& transfer, std::error_code& error) noexcept {
  if (transfer.bytes == 0) return true;
  const bool put = transfer.opcode == IBV_WR_RDMA_WRITE;
  if (put && transfer.bytes <= transfer.peer->pair->inline_bytes_max()) {
    transfer.send_inline = true;
    return true;
  }
  if (endpoint_.is_in_segment(transfer.local, transfer.bytes)) {
    transfer.local_key = endpoint_.segment_region().lkey;
    return true;
  }
  BufferPool& slots = endpoint_.send_slots();
  if (transfer.bytes <= slots.buffer_bytes()) {
    transfer.slot = slots.take();
    if (transfer.slot == BufferPool::kNone) return false;
    std::byte* copy = slots.data(transfer.slot);
    if (put) std::memcpy(copy, transfer.local, transfer.bytes);
    transfer.local = copy;
    transfer.local_key = slots.key();
    return true;
  }
  if (const int refused =
          endpoint_.registrations().acquire(transfer.local, transfer.bytes, !put, transfer.registration)) {
    error = {refused, std::generic_category()};
    return false;
  }
  transfer.local_key = transfer.registration->local_key();
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
bool RdmaTransfers::post_parts(RdmaTransfer& transfer) noexcept {
  const std::size_t part_max = part_bytes_max(transfer.opcode);
  while (transfer.posted_bytes < transfer.bytes) {
    const std::size_t bytes = std::min(part_max, transfer.bytes - transfer.posted_bytes);
    const bool last = transfer.posted_bytes + bytes == transfer.bytes;
    if (!post_part(transfer, bytes, last)) return false;
  }
  if (transfer.bytes == 0 && transfer.signal == RdmaTransfer::Signal::immediate && !post_part(transfer, 0, true))
    return false;
  if (transfer.signal == RdmaTransfer::Signal::message) {
    // Behind the data in the same queue: it is received after they have landed.
    const Operation& operation = *transfer.operation;
    MessageHeader header;
    header.argument_count = 3;
    header.arguments = {operation.signal.segment, operation.signal.offset, operation.signal_add};
    if (!sender_.send_now(*transfer.peer, WireType::signal, header, {})) return false;
  }
  transfer.all_posted = true;
  if (transfer.parts_out == 0) finish(transfer);
  return true;
}

bool RdmaTransfers::post_part(RdmaTransfer& transfer, std::size_t bytes, bool last) noexcept {
  Peer& peer = *transfer.peer;
  if (!endpoint_.has_room(*peer.pair)) return false;
  constexpr std::size_t kUrgentBytes = 4096;  // the device may as well begin with it
  peer.urgent |= bytes >= kUrgentBytes;
  ibv_send_wr request{};
  request.opcode = transfer.opcode;
  request.send_flags = transfer.send_inline ? static_cast<unsigned>(IBV_SEND_INLINE) : 0;
  if (last && transfer.signal == RdmaTransfer::Signal::immediate) {
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = htonl(transfer.immediate);
  }
  if (transfer.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || transfer.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
    const Operation& operation = *transfer.operation;
    const bool add = transfer.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    const std::uint64_t addend = operation.verb == Operation::Verb::modify ? 0 : operation.operand;  // a load adds 0
    request.wr.atomic = {transfer.remote, add ? addend : operation.compare, operation.operand, transfer.remote_key};
  } else {
    request.wr.rdma = {transfer.remote + transfer.posted_bytes, transfer.remote_key};
  }
  const ibv_sge piece{reinterpret_cast<std::uint64_t>(transfer.local + transfer.posted_bytes),
                      static_cast<std::uint32_t>(bytes), transfer.local_key};
  transfer.posted_bytes += bytes;
  ++transfer.parts_out;
  endpoint_.add(*peer.pair, request, bytes == 0 ? nullptr : &piece, {.transfer = &transfer});
  return true;
}

void RdmaTransfers::give_back_local(RdmaTransfer& transfer) noexcept {
  if (transfer.slot != BufferPool::kNone) endpoint_.send_slots().give_back(transfer.slot);
  if (transfer.registration != nullptr) endpoint_.registrations().release(*transfer.registration);
}

void RdmaTransfers::part_done(RdmaTransfer& transfer, std::error_code outcome) noexcept {
  --transfer.parts_out;
  if (!transfer.outcome) transfer.outcome = outcome;
  if (transfer.parts_out == 0 && transfer.all_posted) finish(transfer);
}

void RdmaTransfers::finish(RdmaTransfer& transfer) noexcept {
  Operation* operation = transfer.operation;
  if (operation != nullptr && transfer.slot != BufferPool::kNone && !transfer.outcome) {
    const std::byte* copy = endpoint_.send_slots().data(transfer.slot);
    if (transfer.opcode == IBV_WR_RDMA_READ)
      std::memcpy(operation->local, copy, transfer.bytes);
    else if (transfer.opcode != IBV_WR_RDMA_WRITE)
      std::memcpy(&operation->result, copy, sizeof operation->result);
  }
  give_back_local(transfer);
  if (transfer.ticket != kNoTicket && transfer.peer->state == Peer::State::ready)
    sender_.send(*transfer.peer, WireType::release, {transfer.ticket});
  if (operation == nullptr) land(transfer);
  const std::error_code outcome = transfer.outcome;
  free_.push_back(&transfer);
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
  RdmaTransfer& transfer = new_transfer(peer);
  transfer.operation = &operation;
  transfer.opcode =
      operation.verb == Operation::Verb::compare_swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
  transfer.slot = slot;
  transfer.local = slots.data(slot);
  transfer.local_key = slots.key();
  transfer.bytes = sizeof(std::uint64_t);
  transfer.remote = peer.address.segment_address + (operation.remote.offset & SlabTags::kOffsetMask);
  transfer.remote_key = peer.address.segment_key;
  post_parts(transfer);  // there is room for its only part
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
  host_.finish(*operation, code_from_wire(message.header.arguments[1]));
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
    if (pending.transfer == nullptr) continue;
    pending.transfer->outcome = code;
    finish(*pending.transfer);
  }
}

/// Where memory outside segments lies and by which key it is reached only its owner knows: it is asked for each
/// transfer, and keeps the memory registered until it is told that the transfer is over.
bool RdmaTransfers::ask(RdmaTransfer& transfer, const Operation& operation) noexcept {
  Peer& peer = *transfer.peer;
  const std::uint64_t cookie = await_answer({.peer = &peer, .transfer = &transfer});
  MessageHeader header;
  header.argument_count = 4;
  header.arguments = {cookie, operation.remote.segment | (transfer.opcode == IBV_WR_RDMA_WRITE ? kWrites : 0),
                      operation.remote.offset, operation.bytes};
  if (sender_.send_now(peer, WireType::ask, header, {})) return true;
  take_answer(peer, cookie);
  return false;
}

void RdmaTransfers::receive_grant(Peer& peer, const Parsed& message) noexcept {
  const auto& [cookie, outcome, address, key, ticket] = message.header.arguments;
  RdmaTransfer* transfer = take_answer(peer, cookie).transfer;
  if (transfer == nullptr) return host_.lose(peer, kMalformed);
  transfer->outcome = code_from_wire(outcome);
  if (transfer->outcome) return finish(*transfer);
  transfer->remote = address;
  transfer->remote_key = static_cast<std::uint32_t>(key);
  transfer->ticket = ticket;
  peer.unposted.push_back(transfer);
  host_.pump(peer);
}

void RdmaTransfers::fetch(Peer& peer, const Parsed& message) noexcept {
  constexpr std::uint64_t kRemoteBufferBytesMax = std::uint64_t{1} << 40;
  RemoteBuffer place;
  if (message.payload.size() != sizeof place) return host_.lose(peer, kMalformed);
  std::memcpy(&place, message.payload.data(), sizeof place);
  if (place.bytes == 0 || place.bytes > kRemoteBufferBytesMax) return host_.lose(peer, kMalformed);
  RdmaTransfer& transfer = new_transfer(peer);
  try {
    transfer.landing = endpoint_.landing_places().take(place.bytes);
  } catch (const Error& error) {
    free_.push_back(&transfer);
    return sender_.send(peer, WireType::taken, {to_wire(error.code())});
  }
  transfer.header = message.header;
  transfer.opcode = IBV_WR_RDMA_READ;
  transfer.local = transfer.landing->data();
  transfer.local_key = transfer.landing->key();
  transfer.bytes = place.bytes;
  transfer.remote = place.address;
  transfer.remote_key = place.key;
  if (!peer.unposted.empty() || !post_parts(transfer)) peer.unposted.push_back(&transfer);
  host_.pump(peer);
}

/// The payload has come: the message is delivered, and its sender told.
void RdmaTransfers::land(RdmaTransfer& transfer) noexcept {
  if (!transfer.outcome) {
    host_.deliver(*transfer.peer, transfer.header, {transfer.landing->data(), transfer.bytes});
    sender_.send(*transfer.peer, WireType::taken, {0});
  }
  endpoint_.landing_places().give_back(std::move(transfer.landing));
}

}  // namespace coracle::internals::verbs
