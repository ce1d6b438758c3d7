#include "transports/tca/tca_transport.hpp"

#include <atomic>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/rank/rank_core.hpp"

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

}  // namespace

PacketReceiver::PacketReceiver(Rank& rank, const TcaMemory& memory, RemoteDmaDevice& device, DmaMoves& moves,
                               AskedOperations& asked, TransferHost& host, ReplySender& replies)
    : rank_(rank),
      memory_(memory),
      device_(device),
      moves_(moves),
      asked_(asked),
      host_(host),
      replies_(replies),
      area_(memory.area_of(rank.id())),
      peers_(rank.size()) {}

bool PacketReceiver::receive() noexcept {
  bool progress = false;
  for (std::uint32_t peer = 0; peer < peers_.size(); ++peer) progress |= receive(peer);
  return progress;
}

bool PacketReceiver::receive(std::uint32_t peer) noexcept {
  Peer& from = peers_[peer];
  // acquire: pairs with the device's release, by which the slots were written before.
  const auto arrived = std::atomic_ref(area_.arrived(peer).count).load(std::memory_order_acquire);
  // acquire: pairs with PacketSender::ask_for_credits().
  const auto credit_request = std::atomic_ref(area_.credit_request(peer).count).load(std::memory_order_acquire);
  // A table that is done again after an abort writes older counts first.
  const bool news = arrived - from.taken <= PacketArea::kSlots && arrived != from.taken;
  bool wanted = std::exchange(from.credit_request, credit_request) != credit_request;
  if (rank_.lost(peer)) [[unlikely]] {
    // No credits: what it still sends is not taken. That is all there is to tell.
    if (wanted && credit_request != kGivenUp)
      device_.store(&memory_.area_of(peer).credit_request(rank_.id()).count, kGivenUp);
    return false;
  }
  if (credit_request == kGivenUp) [[unlikely]] {
    rank_.core().peer_lost({peer, "it has given this rank up for lost"});
    return true;
  }
  while (news && from.taken != arrived) {
    const PacketSlot& slot = area_.slot(peer, from.taken);
    wanted |= slot.header.wants_credit != 0;
    take(peer, slot);
    ++from.taken;
    if (from.taken - from.told >= PacketArea::kSlots / 2) tell_credits(peer);
  }
  if (wanted || (!news && from.told != from.taken)) tell_credits(peer);
  return news;
}

void PacketReceiver::forget(std::uint32_t peer) noexcept {
  peers_[peer].payload_bytes = 0;
  peers_[peer].payload = {};
}

void PacketReceiver::tell_credits(std::uint32_t peer) noexcept {
  Peer& from = peers_[peer];
  from.told = from.taken;
  device_.store(&memory_.area_of(peer).credit(rank_.id()).count, from.taken);
}

void PacketReceiver::take(std::uint32_t peer, const PacketSlot& slot) noexcept {
  const PacketHeader& header = slot.header;
  CORACLE_ASSERT(header.words <= header.word.size() && header.bytes <= PacketSlot::kPayloadBytes,
                 "a packet from rank {} with {} words and {} bytes", peer, header.words, header.bytes);
  switch (header.kind) {
    case PacketType::request:
    case PacketType::more:
    case PacketType::reply:
      return take_message(peer, slot);
    case PacketType::data:
    case PacketType::signal:
      return take_data(slot);
    case PacketType::get:
      return take_get(peer, header);
    case PacketType::atomic:
      return take_atomic(peer, header);
    case PacketType::got_data:
      if (Operation* get = asked_.find(header.cookie); get != nullptr) {
        std::memcpy(static_cast<std::byte*>(get->local) + header.word[0], slot.payload.data(), header.bytes);
        device_.copied(header.bytes);
      }
      return;
    case PacketType::got:
    case PacketType::atomic_done:
      if (Operation* operation = asked_.take(header.cookie); operation != nullptr) {
        operation->result = header.word[0];
        host_.finish(*operation, code_from_wire(header.word[1]));
      }
  }
}

void PacketReceiver::take_message(std::uint32_t peer, const PacketSlot& slot) noexcept {
  Peer& from = peers_[peer];
  const PacketHeader& packet = slot.header;
  const std::span payload(slot.payload.data(), packet.bytes);
  if (packet.kind != PacketType::more) {
    from.message = header_of(packet);
    if (packet.cookie == packet.bytes)
      return rank_.core().deliver(from.message, Message(replies_, peer, from.message, payload));
    from.payload.clear();
    from.payload.reserve(packet.cookie);
    from.payload_bytes = packet.cookie;
  }
  if (from.payload_bytes == 0) return;
  from.payload.insert(from.payload.end(), payload.begin(), payload.end());
  device_.copied(packet.bytes);
  if (from.payload.size() < from.payload_bytes) return;
  // What its handler makes come may begin the next.
  const std::vector<std::byte> whole = std::exchange(from.payload, {});
  from.payload_bytes = 0;
  const MessageHeader header = from.message;
  rank_.core().deliver(header, Message(replies_, peer, header, whole));
}

/// Bytes for memory that has been withdrawn are left out, and so is their signal. Their sender takes them for written:
/// only a credit tells it of them.
void PacketReceiver::take_data(const PacketSlot& slot) noexcept {
  const PacketHeader& header = slot.header;
  const auto segment = static_cast<std::uint32_t>(header.word[3]);
  if (header.bytes > 0) {
    if (!memory_.is_there(segment, address(header.word[0]), header.bytes)) return;
    std::memcpy(address(header.word[0]), slot.payload.data(), header.bytes);
    device_.copied(header.bytes);
  }
  if (header.has_signal == 0) return;
  const auto signals_segment = static_cast<std::uint32_t>(header.word[3] >> 32);
  if (memory_.is_there(signals_segment, address(header.word[1]), sizeof(std::uint64_t)))
    local::raise_signal(address(header.word[1]), header.word[2], rank_.core().region().block(rank_.id()).doorbell);
}

void PacketReceiver::take_get(std::uint32_t peer, const PacketHeader& header) noexcept {
  const auto segment = static_cast<std::uint32_t>(header.word[3]);
  moves_.answer({header.cookie, segment}, peer, address(header.word[0]), header.word[2], header.word[1]);
}

void PacketReceiver::take_atomic(std::uint32_t peer, const PacketHeader& header) noexcept {
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
  const bool there =
      memory_.is_there(static_cast<std::uint32_t>(header.word[4]), address(header.word[0]), atomic.width);
  if (there) local::perform_atomic(atomic, address(header.word[0]));
  moves_.send_done(PacketType::atomic_done, header.cookie, peer, atomic.result,
                   there ? std::error_code() : Errc::out_of_segment);
}

}  // namespace coracle::internals::tca
