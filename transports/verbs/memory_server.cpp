#include "transports/verbs/verbs_transport.hpp"

#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/read_exposures.hpp"

namespace coracle::internals::verbs {

void MemoryServer::serve_ask(Peer& peer, const Parsed& message) noexcept {
  const auto& [cookie, segment, offset, bytes, none] = message.header.arguments;
  const RemoteAddress place{offset, rank_.id(), static_cast<std::uint32_t>(segment)};
  const bool written = (segment & kWrites) != 0;
  std::error_code refusal = rank_.core().addresses().check(place, bytes);
  if (place.segment == RemoteAddress::kWholeMemory && (written || !rank_.core().read_exposures().covers(offset, bytes)))
    refusal = Errc::out_of_segment;
  if (refusal) return sender_.send(peer, WireType::grant, {cookie, to_wire(refusal), 0, 0, kNoTicket});
  const std::uint64_t address = rank_.core().addresses().address_there(place);
  auto* const begin = reinterpret_cast<std::byte*>(address);
  if (endpoint_.is_in_segment(begin, bytes))
    return sender_.send(peer, WireType::grant, {cookie, 0, address, endpoint_.segment_region().rkey, kNoTicket});
  Registration* memory = nullptr;
  if (const int error = endpoint_.registrations().acquire(begin, bytes, written, memory))
    return sender_.send(peer, WireType::grant, {cookie, static_cast<std::uint64_t>(error), 0, 0, kNoTicket});
  const std::uint32_t ticket = grants_.take();
  grants_[ticket] = {peer.rank, memory};
  sender_.send(peer, WireType::grant, {cookie, 0, address, memory->remote_key(), ticket});
}

void MemoryServer::serve_atomic(Peer& peer, const Parsed& message) noexcept {
  AtomicCall call;
  if (message.payload.size() != sizeof call) return host_.lose(peer, kMalformed);
  std::memcpy(&call, message.payload.data(), sizeof call);
  if (call.width != 4 && call.width != 8) return host_.lose(peer, kMalformed);
  const auto modification = Modification::of_code(call.modification);
  if (call.modification != 0 && (call.is_compare_swap != 0 || !modification.is_valid()))
    return host_.lose(peer, kMalformed);
  const auto refuse = [&](Errc why) { sender_.send(peer, WireType::atomic_reply, {call.cookie, to_wire(why), 0}); };
  std::byte* place =
      rank_.core().addresses().reach({call.offset, rank_.id(), call.segment}, static_cast<std::size_t>(call.width));
  if (place == nullptr || call.segment == RemoteAddress::kWholeMemory) return refuse(Errc::out_of_segment);
  if (reinterpret_cast<std::uintptr_t>(place) % call.width != 0) return refuse(Errc::misaligned);
  const auto verb = call.is_compare_swap != 0 ? Operation::Verb::compare_swap
                    : call.modification != 0  ? Operation::Verb::modify
                                              : Operation::Verb::fetch_add;
  Operation operation(verb, "atomic", peer.rank);
  operation.modification = modification;
  operation.width = call.width;
  operation.operand = call.operand;
  operation.compare = call.compare;
  local::perform_atomic(operation, place);
  sender_.send(peer, WireType::atomic_reply, {call.cookie, 0, operation.result});
}

void MemoryServer::receive_release(Peer& peer, const Parsed& message) noexcept {
  const std::uint64_t ticket = message.header.arguments[0];
  if (!is_of(peer, ticket)) return host_.lose(peer, kMalformed);
  end(ticket);
}

void MemoryServer::drop(const Peer& peer) noexcept {
  for (std::uint32_t ticket = 0; ticket < grants_.size(); ++ticket)
    if (is_of(peer, ticket)) end(ticket);
}

void MemoryServer::end(std::uint64_t ticket) noexcept {
  endpoint_.registrations().release(*std::exchange(grants_[ticket].registration, nullptr));
  grants_.give_back(static_cast<std::uint32_t>(ticket));
}

}  // namespace coracle::internals::verbs
