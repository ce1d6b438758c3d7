// Memory outside segments, and atomics by message. Where such memory lies and by which key it is reached only its owner
// knows: it is asked for each transfer, and keeps the memory registered until it is told that the transfer is over. So
// no key outlives what it was given for; that the registration itself may be kept is the owner's affair.
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/read_exposures.hpp"
#include "transports/verbs/transport.hpp"

namespace coracle::internals::verbs {
namespace {

constexpr std::uint64_t kWrites = std::uint64_t{1} << 32;  // beside the segment's number

}  // namespace

std::uint64_t VerbsTransport::await_answer(Peer& peer, RdmaTransfer* flight, Operation* operation) noexcept {
  if (free_pending_.empty()) {
    free_pending_.push_back(pending_.size());
    pending_.emplace_back();
  }
  const std::uint64_t cookie = free_pending_.back();
  free_pending_.pop_back();
  pending_[cookie] = {&peer, flight, operation};
  ++peer.awaited;
  watch_silence();
  return cookie;
}

/// Empty when nothing was asked under this number.
VerbsTransport::Pending VerbsTransport::take_answer(Peer& peer, std::uint64_t cookie) noexcept {
  if (cookie >= pending_.size() || pending_[cookie].peer != &peer) return {};
  free_pending_.push_back(cookie);
  --peer.awaited;
  return std::exchange(pending_[cookie], {});
}

bool VerbsTransport::ask(RdmaTransfer& flight, const Operation& operation) noexcept {
  Peer& peer = *flight.peer;
  if (!has_room(peer)) return false;
  const std::uint64_t cookie = await_answer(peer, &flight, nullptr);
  MessageHeader header;
  header.argument_count = 4;
  header.arguments = {cookie, operation.remote.segment | (flight.opcode == IBV_WR_RDMA_WRITE ? kWrites : 0),
                      operation.remote.offset, operation.bytes};
  if (send_now(peer, WireType::ask, header, {})) return true;
  take_answer(peer, cookie);
  return false;
}

void VerbsTransport::serve_ask(Peer& peer, const Parsed& message) noexcept {
  const auto& [cookie, segment, offset, bytes, none] = message.header.arguments;
  const RemoteAddress place{offset, rank_.id(), static_cast<std::uint32_t>(segment)};
  const bool written = (segment & kWrites) != 0;
  std::error_code refusal = rank_.core().addresses().check(place, bytes);
  if (place.segment == RemoteAddress::kWholeMemory && (written || !rank_.core().read_exposures().covers(offset, bytes)))
    refusal = Errc::out_of_segment;
  if (refusal) return send(peer, WireType::grant, {cookie, to_wire(refusal), 0, 0, kNoTicket});
  const std::uint64_t address = rank_.core().addresses().address_there(place);
  const auto begin = reinterpret_cast<std::uint64_t>(segment_);
  if (address >= begin && bytes <= region_.shape().segment_bytes &&
      address - begin <= region_.shape().segment_bytes - bytes)
    return send(peer, WireType::grant, {cookie, 0, address, segment_region_->rkey, kNoTicket});
  Registration* memory = nullptr;
  const int error = registrations_.acquire(reinterpret_cast<void*>(address), bytes, written, memory);
  if (error != 0) return send(peer, WireType::grant, {cookie, static_cast<std::uint64_t>(error), 0, 0, kNoTicket});
  if (free_grants_.empty()) {
    free_grants_.push_back(grants_.size());
    grants_.emplace_back();
  }
  const std::uint64_t ticket = free_grants_.back();
  free_grants_.pop_back();
  grants_[ticket] = {peer.rank, memory};
  send(peer, WireType::grant, {cookie, 0, address, memory->remote_key(), ticket});
}

void VerbsTransport::receive_grant(Peer& peer, const Parsed& message) noexcept {
  const auto& [cookie, outcome, address, key, ticket] = message.header.arguments;
  RdmaTransfer* flight = take_answer(peer, cookie).flight;
  if (flight == nullptr) return lose(peer, kMalformed);
  flight->outcome = outcome_from_wire(outcome);
  if (flight->outcome) return finish_flight(*flight);
  flight->remote = address;
  flight->remote_key = static_cast<std::uint32_t>(key);
  flight->ticket = ticket;
  peer.flights.push_back(flight);
  pump(peer);
}

void VerbsTransport::receive_release(Peer& peer, const Parsed& message) noexcept {
  const std::uint64_t ticket = message.header.arguments[0];
  if (ticket >= grants_.size() || grants_[ticket].registration == nullptr || grants_[ticket].peer != peer.rank)
    return lose(peer, kMalformed);
  registrations_.release(*std::exchange(grants_[ticket].registration, nullptr));
  free_grants_.push_back(ticket);
}

bool VerbsTransport::call_atomic(Peer& peer, Operation& operation) noexcept {
  if (!has_room(peer)) return false;
  AtomicCall call{};
  call.cookie = await_answer(peer, nullptr, &operation);
  call.offset = operation.remote.offset;
  call.segment = operation.remote.segment;
  call.operand = operation.operand;
  call.compare = operation.compare;
  call.width = operation.width;
  call.is_compare_swap = operation.verb == Operation::Verb::compare_swap ? 1 : 0;
  call.modification = operation.modification.code();
  MessageHeader header;
  if (send_now(peer, WireType::atomic, header, std::as_bytes(std::span(&call, 1)))) return true;
  take_answer(peer, call.cookie);
  return false;
}

void VerbsTransport::serve_atomic(Peer& peer, const Parsed& message) noexcept {
  AtomicCall call;
  if (message.payload.size() != sizeof call) return lose(peer, kMalformed);
  std::memcpy(&call, message.payload.data(), sizeof call);
  if (call.width != 4 && call.width != 8) return lose(peer, kMalformed);
  const auto modification = Modification::of_code(call.modification);
  if (call.modification != 0 && (call.is_compare_swap != 0 || !modification.is_valid())) return lose(peer, kMalformed);
  std::byte* place =
      rank_.core().addresses().reach({call.offset, rank_.id(), call.segment}, static_cast<std::size_t>(call.width));
  if (place == nullptr || call.segment == RemoteAddress::kWholeMemory)
    return send(peer, WireType::atomic_reply, {call.cookie, to_wire(Errc::out_of_segment), 0});
  if (reinterpret_cast<std::uintptr_t>(place) % call.width != 0)
    return send(peer, WireType::atomic_reply, {call.cookie, to_wire(Errc::misaligned), 0});
  const auto verb = call.is_compare_swap != 0 ? Operation::Verb::compare_swap
                    : call.modification != 0  ? Operation::Verb::modify
                                              : Operation::Verb::fetch_add;
  Operation operation(verb, "atomic", peer.rank);
  operation.modification = modification;
  operation.width = call.width;
  operation.operand = call.operand;
  operation.compare = call.compare;
  local::perform_atomic(operation, place);
  send(peer, WireType::atomic_reply, {call.cookie, 0, operation.result});
}

void VerbsTransport::receive_atomic_reply(Peer& peer, const Parsed& message) noexcept {
  Operation* operation = take_answer(peer, message.header.arguments[0]).operation;
  if (operation == nullptr) return lose(peer, kMalformed);
  operation->result = message.header.arguments[2];
  finish(*operation, outcome_from_wire(message.header.arguments[1]));
}

}  // namespace coracle::internals::verbs
