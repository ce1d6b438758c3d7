#include "transports/tca/dma_moves.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals::tca {
namespace {

std::uint64_t round_up(std::uint64_t bytes) noexcept {
  return (bytes + 15) / 16 * 16;
}

std::byte* as_bytes(void* what) noexcept {
  return static_cast<std::byte*>(what);
}

std::error_code io_error() noexcept {
  return std::make_error_code(std::errc::io_error);
}

}  // namespace

PacketSender::PacketSender(Rank& rank, const TcaMemory& memory, RemoteDmaDevice& device, DmaEngine& engine,
                           TransferHost& host)
    : rank_(rank),
      memory_(memory),
      device_(device),
      engine_(engine),
      host_(host),
      area_(memory.area_of(rank.id())),
      peers_(rank.size()) {
  for (Batch& batch : batches_) batch.sender = this;
  for (std::size_t i = 0; i < PacketArea::kSendBuffers; ++i) free_send_buffers_.push_back(i);
}

void PacketSender::send(std::uint32_t peer, Outgoing outgoing) noexcept {
  if (rank_.lost(peer) || failed_) {
    if (outgoing.operation != nullptr) host_.finish(*outgoing.operation, Errc::peer_lost);
    return;
  }
  peers_[peer].queue.push_back(std::move(outgoing));
  ++queued_;
  host_.look_after();
  if (pump(peer)) flush();
}

bool PacketSender::pump() noexcept {
  bool progress = false;
  for (std::uint32_t peer = 0; peer < peers_.size(); ++peer) progress |= pump(peer);
  return progress;
}

/// How many packets the peer has taken.
std::uint64_t PacketSender::credit(std::uint32_t peer) const noexcept {
  // acquire: pairs with the device's release; the slot has been read before its credit was told.
  return std::atomic_ref(area_.credit(peer).count).load(std::memory_order_acquire);
}

bool PacketSender::pump(std::uint32_t peer) noexcept {
  Peer& to = peers_[peer];
  const bool progress = confirm(peer);
  Batch& batch = batches_[open_batch_];
  const std::uint64_t taken = credit(peer);
  PacketArea::SendBuffer* send_buffer = nullptr;
  if (!to.queue.empty() && to.sent - taken == PacketArea::kSlots && std::exchange(to.waited_at, to.sent) != to.sent)
    ++full_rings_;
  while (!to.queue.empty() && to.sent - taken < PacketArea::kSlots && !free_send_buffers_.empty()) {
    const std::size_t index = free_send_buffers_.back();
    free_send_buffers_.pop_back();
    batch.send_buffers.push_back(index);
    send_buffer = &area_.send_buffer(index);
    Outgoing& first = to.queue.front();
    ++to.sent;
    if (!fill(batch, peer, first, *send_buffer)) continue;
    Operation* operation = first.operation;
    const PacketType kind = first.header.kind;
    to.queue.pop_front();
    --queued_;
    if (operation == nullptr) continue;
    if (kind == PacketType::request)
      host_.finish(*operation, {});  // its payload has been copied
    else if (kind == PacketType::signal)
      batch.puts.push_back(operation);  // its bytes go ahead of the packet
    else
      to.unconfirmed.push_back({to.sent, operation});
  }
  if (send_buffer == nullptr) return progress;
  send_buffer->count.count = to.sent;
  batch.chain.push_back(
      {as_bytes(&send_buffer->count), as_bytes(&memory_.area_of(peer).arrived(rank_.id())), sizeof(Cell)});
  return true;
}

/// What tells of the get's data tells that they are not there.
void PacketSender::end_answer(std::uint32_t peer, std::uint64_t cookie) noexcept {
  RingQueue<Outgoing>& queue = peers_[peer].queue;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    PacketHeader& header = queue[i].header;
    if (header.kind == PacketType::got && header.cookie == cookie) header.word = {0, to_wire(Errc::out_of_segment)};
  }
}

/// Makes the next packet of `outgoing`. True when it is the last.
bool PacketSender::fill(Batch& batch, std::uint32_t peer, Outgoing& outgoing,
                        PacketArea::SendBuffer& send_buffer) noexcept {
  PacketSlot& target = memory_.area_of(peer).slot(rank_.id(), peers_[peer].sent - 1);
  if (outgoing.ahead.block_bytes > 0) {
    batch.revocables.push_back({batch.chain.size(), &send_buffer, false, outgoing.operation});
    batch.chain.push_back(outgoing.ahead);
  }
  // What this rank has withdrawn since a get asked for it is read no more: the rest of the answer says so.
  if (!memory_.is_there(outgoing.answer.segment, outgoing.source + outgoing.position,
                        outgoing.bytes - outgoing.position)) {
    outgoing.position = outgoing.bytes;
    end_answer(peer, outgoing.answer.cookie);
  }
  const std::uint64_t bytes = std::min<std::uint64_t>(outgoing.bytes - outgoing.position, PacketSlot::kPayloadBytes);
  const std::byte* source = outgoing.source + outgoing.position;
  const bool last = outgoing.position + bytes == outgoing.bytes;
  PacketHeader& header = send_buffer.slot.header;
  header = outgoing.header;
  header.bytes = static_cast<std::uint32_t>(bytes);
  header.wants_credit = last && outgoing.operation != nullptr && header.kind == PacketType::data;
  if (header.kind == PacketType::request && outgoing.position > 0) header.kind = PacketType::more;
  if (header.kind == PacketType::data) {
    header.word[0] += outgoing.position;
    if (!last) header.has_signal = 0;
  }
  if (header.kind == PacketType::got_data) header.word[0] = outgoing.position;
  outgoing.position += bytes;
  // From memory to buffer: the device reads the payload where it is. Its last bytes it can't, unless they are whole.
  const bool in_place = header.kind == PacketType::data && bytes >= kInPlaceBytesMin && bytes % 16 == 0 &&
                        reinterpret_cast<std::uintptr_t>(source) % 16 == 0 && memory_.is_in_segment(source, bytes);
  if (!in_place && bytes > 0) {
    std::memcpy(send_buffer.slot.payload.data(), source, bytes);
    device_.copied(bytes);
  }
  batch.chain.push_back(
      {as_bytes(&send_buffer.slot), as_bytes(&target), sizeof(PacketHeader) + (in_place ? 0 : round_up(bytes))});
  if (in_place) {
    batch.revocables.push_back({batch.chain.size(), &send_buffer, true});
    batch.chain.push_back({source, target.payload.data(), bytes});
  }
  return last;
}

bool PacketSender::confirm(std::uint32_t peer) noexcept {
  RingQueue<Unconfirmed>& waiting = peers_[peer].unconfirmed;
  if (waiting.empty()) return false;
  const std::uint64_t taken = credit(peer);
  bool progress = false;
  while (!waiting.empty() && waiting.front().number <= taken) {
    Operation* put = waiting.front().operation;
    waiting.pop_front();
    host_.confirmed(*put);
    progress = true;
  }
  return progress;
}

bool PacketSender::ask_for_credits(std::uint32_t peer) noexcept {
  Peer& to = peers_[peer];
  if (to.queue.empty() && to.unconfirmed.empty()) return false;
  device_.store(&memory_.area_of(peer).credit_request(rank_.id()).count, ++to.credit_requests);
  return true;
}

bool PacketSender::depends_on(std::uint32_t peer) const noexcept {
  const Peer& to = peers_[peer];
  return !to.queue.empty() || !to.unconfirmed.empty() || to.sent != credit(peer);
}

bool PacketSender::idle() const noexcept {
  return queued_ == 0 && batches_[0].chain.empty() && batches_[1].chain.empty();
}

/// Whether the device takes it: its memory is registered.
bool PacketSender::device_takes(const Descriptor& descriptor) const noexcept {
  for (const std::uint64_t block : {std::uint64_t{0}, descriptor.count - 1})
    if (!device_.reads(descriptor.source_block(block), descriptor.block_bytes) ||
        !device_.writes(descriptor.target_block(block), descriptor.block_bytes))
      return false;
  return true;
}

/// Takes out of a batch what its owners have withdrawn since it was queued; with `all`, whatever they might have.
void PacketSender::drop_withdrawn(Batch& batch, bool all) noexcept {
  std::vector<Revocable> left;
  std::size_t dropped = 0;
  for (Revocable each : batch.revocables) {
    each.descriptor -= dropped;
    Descriptor& descriptor = batch.chain[each.descriptor];
    if (all || !device_takes(descriptor)) {
      if (!each.is_payload) {
        batch.chain.erase(batch.chain.begin() + static_cast<std::ptrdiff_t>(each.descriptor));
        ++dropped;
        if (each.put != nullptr) std::erase(batch.puts, each.put);
        withdraw(each.send_buffer->slot.header, each.put);
        continue;
      }
      // It is this rank's own, and there until its operation ends.
      std::memcpy(each.send_buffer->slot.payload.data(), descriptor.source, descriptor.block_bytes);
      descriptor.source = each.send_buffer->slot.payload.data();
    }
    left.push_back(each);
  }
  batch.revocables = std::move(left);
}

/// What was to go ahead of a packet has no memory any more: the packet says so, or nothing.
void PacketSender::withdraw(PacketHeader& packet, Operation* put) noexcept {
  if (packet.kind == PacketType::got) {
    packet.word = {0, to_wire(Errc::out_of_segment)};
    return;
  }
  packet.has_signal = 0;
  if (put != nullptr) host_.finish(*put, Errc::out_of_segment);
}

void PacketSender::flush() noexcept {
  Batch& batch = batches_[open_batch_];
  if (batch.chain.empty() || batches_[1 - open_batch_].on_its_way) return;
  open_batch_ = 1 - open_batch_;
  batch.on_its_way = true;
  // Memory that others have exposed they may withdraw at any time, also between a look at it and the next.
  for (int refusals = 0;; ++refusals) {
    try {
      return engine_.run(batch.chain, kChannel, batch);
    } catch (const Error& error) {
      CORACLE_ASSERT(refusals < 2, "packets that the device refuses: {}", error.what());
      drop_withdrawn(batch, refusals == 1);
    }
  }
}

/// What was to go ahead of packets and found that its memory had been withdrawn. The packets have gone: a signal is
/// raised nevertheless.
void PacketSender::fail_left_out(Batch& batch) noexcept {
  for (const Revocable& each : batch.revocables) {
    if (each.put == nullptr || device_takes(batch.chain[each.descriptor])) continue;
    std::erase(batch.puts, each.put);
    host_.finish(*each.put, rank_.lost(each.put->remote.rank) ? Errc::peer_lost : Errc::out_of_segment);
  }
}

void PacketSender::end_batch(Batch& batch, bool worked) noexcept {
  batch.on_its_way = false;
  if (batch.left_out()) fail_left_out(batch);
  empty(batch, worked ? std::error_code() : io_error());
  if (!worked) fail();
}

/// It begins anew. The memory of its lists is kept.
void PacketSender::empty(Batch& batch, std::error_code outcome) noexcept {
  batch.chain.clear();
  batch.revocables.clear();
  for (const std::size_t send_buffer : batch.send_buffers) free_send_buffers_.push_back(send_buffer);
  batch.send_buffers.clear();
  for (Operation* put : batch.puts)
    host_.finish(*put, rank_.lost(static_cast<std::uint32_t>(put->peer())) ? Errc::peer_lost : outcome);
  batch.puts.clear();
}

/// Without its packets' channel a rank reaches nobody. No packet may follow one that got lost: the peers' counts would
/// go beyond it.
void PacketSender::fail() noexcept {
  failed_ = true;
  empty(batches_[open_batch_], io_error());
  Peer& self = peers_[rank_.id()];
  drop_queue(self, io_error());
  for (; !self.unconfirmed.empty(); self.unconfirmed.pop_front())
    host_.finish(*self.unconfirmed.front().operation, io_error());
  host_.packets_failed();
}

/// Of an operation with a lost peer. A batch on its way may be reading from its buffer: then it ends with that.
void PacketSender::end_with_batch(Operation& operation) noexcept {
  for (Batch* batch : {&batches_[open_batch_], &batches_[1 - open_batch_]})
    if (!batch->chain.empty()) return batch->puts.push_back(&operation);
  host_.finish(operation, Errc::peer_lost);
}

void PacketSender::drop_queue(Peer& to, std::error_code why) noexcept {
  while (!to.queue.empty()) {
    Operation* operation = to.queue.front().operation;
    to.queue.pop_front();
    --queued_;
    if (operation != nullptr) host_.finish(*operation, why);
  }
}

void PacketSender::lose(std::uint32_t peer) noexcept {
  Peer& lost = peers_[peer];
  if (!lost.queue.empty() && lost.queue.front().position > 0)
    if (Operation* begun = std::exchange(lost.queue.front().operation, nullptr); begun != nullptr)
      end_with_batch(*begun);
  drop_queue(lost, Errc::peer_lost);
  while (!lost.unconfirmed.empty()) {
    Operation* operation = lost.unconfirmed.front().operation;
    lost.unconfirmed.pop_front();
    end_with_batch(*operation);
  }
}

}  // namespace coracle::internals::tca
