// Packets that have come.
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank_core.hpp"
#include "transports/tca/tca_transport.hpp"

namespace coracle::internals::tca {
namespace {

std::byte* address(std::uint64_t word) noexcept {
  return reinterpret_cast<std::byte*>(word);
}

MessageHeader header_of(const PacketHeader& packet) noexcept {
  MessageHeader header;
  header.handler = HandlerId::from_wire(packet.handler);
  header.argument_count = packet.words;
  std::copy_n(packet.word.begin(), packet.words, header.arguments.begin());
  return header;
}

/// Of an answer: 0 when it is good. EFAULT: the memory has been withdrawn.
std::error_code error_of(std::uint64_t number) noexcept {
  if (number == EFAULT) return Errc::out_of_segment;
  return number == 0 ? std::error_code() : std::error_code(static_cast<int>(number), std::generic_category());
}

}  // namespace

bool TcaTransport::receive() noexcept {
  bool progress = false;
  for (std::uint32_t peer = 0; peer < peers_.size(); ++peer) progress |= receive(peer, peers_[peer]);
  return progress;
}

bool TcaTransport::receive(std::uint32_t peer, Peer& from) noexcept {
  // acquire: pairs with the device's release, by which the slots were written before.
  const auto arrived = std::atomic_ref(area_.arrived(peer).count).load(std::memory_order_acquire);
  const auto credit_request =
      std::atomic_ref(area_.credit_request(peer).count).load(std::memory_order_acquire);  // pairs with look()
  // A table that is done again after an abort writes older counts first.
  const bool news = arrived - from.taken <= PacketArea::kSlots && arrived != from.taken;
  bool wanted = std::exchange(from.credit_request, credit_request) != credit_request;
  if (rank_.lost(peer)) [[unlikely]] {
    // No credits: what it still sends is not taken. That is all there is to tell.
    if (wanted && credit_request != kGivenUp) device_->store(&area_of(peer).credit_request(rank_.id()).count, kGivenUp);
    return false;
  }
  if (credit_request == kGivenUp) [[unlikely]] {
    rank_.core().peer_lost({peer, "it has given this rank up for lost"});
    return true;
  }
  while (news && from.taken != arrived) {
    const PacketSlot& slot = area_.slot(peer, from.taken);
    wanted |= slot.header.wants_credit != 0;
    take(peer, from, slot);
    ++from.taken;
    if (from.taken - from.told >= PacketArea::kSlots / 2) tell_credits(peer, from);
  }
  if (wanted || (!news && from.told != from.taken)) tell_credits(peer, from);
  return news;
}

void TcaTransport::tell_credits(std::uint32_t peer, Peer& from) noexcept {
  from.told = from.taken;
  device_->store(&area_of(peer).credit(rank_.id()).count, from.taken);
}

void TcaTransport::take(std::uint32_t peer, Peer& from, const PacketSlot& slot) noexcept {
  const PacketHeader& header = slot.header;
  CORACLE_ASSERT(header.words <= header.word.size() && header.bytes <= PacketSlot::kPayloadBytes,
                 "a packet from rank {} with {} words and {} bytes", peer, header.words, header.bytes);
  switch (header.kind) {
    case PacketType::request:
    case PacketType::more:
    case PacketType::reply:
      return take_message(peer, from, slot);
    case PacketType::data:
    case PacketType::signal:
      return take_data(slot);
    case PacketType::get:
      return take_get(peer, slot);
    case PacketType::atomic:
      return take_atomic(peer, slot);
    case PacketType::got_data: {
      const auto index = static_cast<std::uint32_t>(header.cookie);
      if (index >= asked_.size() || asked_[index].generation != header.cookie >> 32) return;
      if (Operation* get = asked_[index].operation; get != nullptr)
        std::memcpy(static_cast<std::byte*>(get->local) + header.word[0], slot.payload.data(), header.bytes);
      device_->copied(header.bytes);
      return;
    }
    case PacketType::got:
    case PacketType::atomic_done:
      if (Operation* operation = answered(header.cookie); operation != nullptr) {
        operation->result = header.word[0];
        finish(*operation, error_of(header.word[1]));
      }
  }
}

void TcaTransport::take_message(std::uint32_t peer, Peer& from, const PacketSlot& slot) noexcept {
  const PacketHeader& packet = slot.header;
  const std::span payload(slot.payload.data(), packet.bytes);
  if (packet.kind != PacketType::more) {
    from.message = header_of(packet);
    if (packet.cookie == packet.bytes)
      return rank_.core().deliver(from.message, Message(*this, peer, from.message, payload));
    from.payload.clear();
    from.payload.reserve(packet.cookie);
    from.payload_bytes = packet.cookie;
  }
  if (from.payload_bytes == 0) return;
  from.payload.insert(from.payload.end(), payload.begin(), payload.end());
  device_->copied(packet.bytes);
  if (from.payload.size() < from.payload_bytes) return;
  // What its handler makes come may begin the next.
  const std::vector<std::byte> whole = std::exchange(from.payload, {});
  from.payload_bytes = 0;
  const MessageHeader header = from.message;
  rank_.core().deliver(header, Message(*this, peer, header, whole));
}

/// Whether this rank has not withdrawn that memory since the sender looked.
bool TcaTransport::is_there(std::uint32_t segment, const std::byte* begin, std::uint64_t bytes) const noexcept {
  if (segment == RemoteAddress::kOwnSegment || segment == RemoteAddress::kWholeMemory) return true;
  const std::uint32_t index = ExposedMemory::index_of(segment);
  if (index >= RankBlock::kExposedMax) return false;
  const ExposedMemory& exposed = region_.block(rank_.id()).exposed[index];
  const std::uint64_t word = exposed.word.load(std::memory_order_relaxed);  // written by this rank only
  if (word >> ExposedMemory::kTimesShift != ExposedMemory::times_of(segment)) return false;
  const std::uint64_t room = word & ExposedMemory::kBytesMask;
  const std::byte* first = address(exposed.address.load(std::memory_order_relaxed));
  return begin >= first && bytes <= room && begin <= first + (room - bytes);
}

/// Bytes for memory that has been withdrawn are left out, and so is their signal. Their sender takes them for written:
/// only a credit tells it of them.
void TcaTransport::take_data(const PacketSlot& slot) noexcept {
  const PacketHeader& header = slot.header;
  const auto segment = static_cast<std::uint32_t>(header.word[3]);
  if (header.bytes > 0) {
    if (!is_there(segment, address(header.word[0]), header.bytes)) return;
    std::memcpy(address(header.word[0]), slot.payload.data(), header.bytes);
    device_->copied(header.bytes);
  }
  if (header.has_signal == 0) return;
  const auto signals_segment = static_cast<std::uint32_t>(header.word[3] >> 32);
  if (is_there(signals_segment, address(header.word[1]), sizeof(std::uint64_t)))
    local::raise_signal(address(header.word[1]), header.word[2], region_.block(rank_.id()).doorbell);
}

void TcaTransport::take_get(std::uint32_t peer, const PacketSlot& slot) noexcept {
  const PacketHeader& header = slot.header;
  const std::byte* source = address(header.word[0]);
  const std::uint64_t bytes = header.word[1];
  const auto segment = static_cast<std::uint32_t>(header.word[3]);
  if (!is_there(segment, source, bytes)) return send_got(header.cookie, peer, EFAULT);
  if (header.word[2] != ~std::uint64_t{0})
    return deliver(nullptr, {header.cookie, segment}, peer, source, address(header.word[2]), bytes);
  ++modes_.buffer_to_buffer;
  Outgoing outgoing;
  outgoing.header.kind = PacketType::got_data;
  outgoing.header.words = 1;
  outgoing.header.cookie = header.cookie;
  outgoing.source = source;
  outgoing.bytes = bytes;
  outgoing.answer = {header.cookie, segment};
  send(peer, std::move(outgoing));
  send_got(header.cookie, peer, 0);
}

void TcaTransport::take_atomic(std::uint32_t peer, const PacketSlot& slot) noexcept {
  const PacketHeader& header = slot.header;
  const auto modification = Modification::of_code(static_cast<std::uint8_t>(header.word[3] >> kModificationShift));
  const bool swaps = (header.word[3] & kComparesAndSwaps) != 0;
  const auto verb = modification.is_valid() ? Operation::Verb::modify
                    : swaps                 ? Operation::Verb::compare_swap
                                            : Operation::Verb::fetch_add;
  Operation atomic(verb, "atomic", peer);
  atomic.modification = modification;
  atomic.width = static_cast<std::uint8_t>(header.word[3]);
  atomic.operand = header.word[1];
  atomic.compare = header.word[2];
  const bool there = is_there(static_cast<std::uint32_t>(header.word[4]), address(header.word[0]), atomic.width);
  if (there) local::perform_atomic(atomic, address(header.word[0]));
  Outgoing outgoing;
  outgoing.header.kind = PacketType::atomic_done;
  outgoing.header.words = 2;
  outgoing.header.cookie = header.cookie;
  outgoing.header.word = {atomic.result, there ? 0U : static_cast<std::uint64_t>(EFAULT)};
  send(peer, std::move(outgoing));
}

}  // namespace coracle::internals::tca
