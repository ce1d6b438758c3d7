#include "transports/tca/dma_moves.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"

namespace coracle::internals::tca {
namespace {

constexpr std::uint64_t kUnit = 16;  // what the device moves at least, and at multiples of which

std::uint64_t offset_in_unit(const std::byte* place) noexcept {
  return reinterpret_cast<std::uintptr_t>(place) % kUnit;
}

bool may_be_withdrawn(std::uint32_t segment) noexcept {
  return RemoteAddress{0, 0, segment}.may_be_withdrawn();
}

bool goes_along(const Operation& put) noexcept {
  return put.signal_add > 0 && put.signal.rank == put.remote.rank;
}

/// For its target, who looks whether it still has them: of the bytes, and of the signal. What a get has asked for goes
/// to its buffer, which stays.
std::uint64_t segments_of(const Operation* put) noexcept {
  if (put == nullptr) return RemoteAddress::kWholeMemory;
  const std::uint64_t signals = put->signal_add > 0 ? put->signal.segment : RemoteAddress::kOwnSegment;
  return signals << 32 | put->remote.segment;
}

}  // namespace

DmaMoves::DmaMoves(Rank& rank, const TcaMemory& memory, RemoteDmaDevice& device, DmaEngine& engine,
                   PacketSender& sender, TransferHost& host)
    : rank_(rank),
      memory_(memory),
      device_(device),
      engine_(engine),
      sender_(sender),
      host_(host),
      area_(memory.area_of(rank.id())),
      counts_(rank.size()) {
  for (int i = 0; i < static_cast<int>(PacketArea::kBounces); ++i) free_bounces_.push_back(i);
}

void DmaMoves::put(Operation& put) noexcept {
  const Bytes bytes{.put = &put,
                    .peer = put.remote.rank,
                    .source = static_cast<const std::byte*>(put.local),
                    .target = memory_.address_of(put.remote),
                    .count = put.bytes};
  if (put.bytes > 0 && memory_.is_reached(bytes.target, put.bytes)) return deliver(bytes);
  send_data(bytes, true);  // memory that only its owner reaches, or nothing but a signal
}

void DmaMoves::answer(const Answer& answer, std::uint32_t peer, const std::byte* source, std::uint64_t target,
                      std::uint64_t bytes) noexcept {
  if (!memory_.is_there(answer.segment, source, bytes))
    return send_done(PacketType::got, answer.cookie, peer, 0, Errc::out_of_segment);
  if (target != ~std::uint64_t{0})
    return deliver({.answer = answer,
                    .peer = peer,
                    .source = source,
                    .target = reinterpret_cast<std::byte*>(target),
                    .count = bytes});
  ++modes_.buffer_to_buffer;
  sender_.send(peer, {.header = {.kind = PacketType::got_data, .words = 1, .cookie = answer.cookie},
                      .source = source,
                      .bytes = bytes,
                      .answer = answer});
  send_done(PacketType::got, answer.cookie, peer, 0, {});
}

/// Chooses the mode.
void DmaMoves::deliver(const Bytes& bytes) noexcept {
  const bool registered = memory_.is_registered(bytes.source, bytes.count);
  const std::uint64_t source_offset = offset_in_unit(bytes.source);
  const std::uint64_t target_offset = offset_in_unit(bytes.target);
  if (registered && source_offset == 0 && target_offset == 0 && bytes.count % kUnit == 0) {
    ++modes_.memory_to_memory;
    // An answer's packet must not have left when its bytes turn out to be withdrawn, at either end: exposed memory and
    // the asker's own may lie in exposed memory, too.
    const bool lasts = memory_.lasts(bytes.source, bytes.count) && memory_.lasts(bytes.target, bytes.count);
    const bool has_packet =
        bytes.put == nullptr ? lasts && !may_be_withdrawn(bytes.answer.segment) : goes_along(*bytes.put);
    return has_packet && bytes.count <= kChainedBytesMax ? send_chained(bytes) : begin(bytes, false);
  }
  // A short one goes by one packet, rather than by a table of its own and packets for its ends.
  const bool is_short = bytes.count <= PacketSlot::kPayloadBytes;
  if (!is_short && registered && source_offset == target_offset) {
    ++modes_.memory_to_memory;
    return begin(bytes, false);
  }
  if (registered && source_offset == 0 && target_offset != 0) {
    ++modes_.memory_to_buffer;
  } else if (is_short) {
    ++modes_.buffer_to_buffer;
  } else {
    ++modes_.buffer_to_memory;
    return begin(bytes, true);
  }
  send_data(bytes, true);
}

// --- by packets ---

/// `last`: nothing more belongs to the put or get.
void DmaMoves::send_data(const Bytes& bytes, bool last) noexcept {
  Operation* const put = bytes.put;
  Outgoing outgoing{.header = {.kind = PacketType::data,
                               .words = 4,
                               .word = {reinterpret_cast<std::uint64_t>(bytes.target), 0, 0, segments_of(put)}},
                    .source = bytes.source,
                    .bytes = bytes.count,
                    .operation = last ? put : nullptr,
                    .answer = bytes.answer};
  if (last && put != nullptr && goes_along(*put)) {
    outgoing.header.has_signal = 1;
    outgoing.header.word[1] = reinterpret_cast<std::uint64_t>(memory_.address_of(put->signal));
    outgoing.header.word[2] = put->signal_add;
  }
  sender_.send(bytes.peer, std::move(outgoing));
  if (!last || put != nullptr) return;
  // What was withdrawn by now may have been found missing by now.
  const bool there = memory_.is_there(bytes.answer.segment, bytes.source, bytes.count);
  send_done(PacketType::got, bytes.answer.cookie, bytes.peer, 0, there ? std::error_code() : Errc::out_of_segment);
}

/// With the packet that tells of it, in one table: the packet comes after the bytes.
void DmaMoves::send_chained(const Bytes& bytes) noexcept {
  Outgoing outgoing{.header = {.kind = PacketType::got, .words = 2, .cookie = bytes.answer.cookie},
                    .operation = bytes.put,
                    .ahead = {bytes.source, bytes.target, bytes.count}};
  if (bytes.put != nullptr) outgoing.header = signal_of(*bytes.put);
  sender_.send(bytes.peer, std::move(outgoing));
}

void DmaMoves::send_done(PacketType kind, std::uint64_t cookie, std::uint32_t peer, std::uint64_t result,
                         std::error_code error) noexcept {
  sender_.send(peer, {.header = {.kind = kind, .words = 2, .cookie = cookie, .word = {result, to_wire(error)}}});
}

/// The packet that raises a put's signal.
PacketHeader DmaMoves::signal_of(const Operation& put) const noexcept {
  return {
      .kind = PacketType::signal,
      .words = 4,
      .has_signal = 1,
      .word = {0, reinterpret_cast<std::uint64_t>(memory_.address_of(put.signal)), put.signal_add, segments_of(&put)}};
}

void DmaMoves::finish(Operation& put) noexcept {
  if (put.signal_add > 0 && !goes_along(put)) sender_.send(put.signal.rank, {.header = signal_of(put)});
  host_.finish(put, {});
}

// --- by DMA ---

DmaMoves::Move& DmaMoves::take(const Bytes& bytes) noexcept {
  if (free_moves_.empty()) {
    moves_.push_back(std::make_unique<Move>());
    free_moves_.push_back(moves_.back().get());
  }
  Move& move = *free_moves_.back();
  free_moves_.pop_back();
  move.moves = this;
  move.whole = bytes;
  ++counts_[bytes.peer];
  move.head = move.tail = move.position = 0;
  move.row = {nullptr, nullptr, 0};
  move.buffered = move.waits = false;
  move.failure = {};
  for (Chunk& chunk : move.chunks) chunk.move = &move;
  host_.look_after();
  return move;
}

void DmaMoves::begin(const Bytes& bytes, bool buffered) noexcept {
  Move& move = take(bytes);
  move.head = (kUnit - offset_in_unit(bytes.target)) % kUnit;
  move.body = (bytes.count - move.head) / kUnit * kUnit;
  move.tail = bytes.count - move.head - move.body;
  move.buffered = buffered;
  go_on(move);
}

/// What the device is to do after what it has in hand.
Descriptor DmaMoves::Move::next_part() const noexcept {
  if (!is_strided()) return {whole.source + head + position, whole.target + head + position, body - position};
  Descriptor next = row;
  const auto index = static_cast<std::int64_t>(position / row.bytes());
  next.source += index * source_row_stride;
  next.target += index * target_row_stride;
  return next;
}

/// Gives the device as much of it as there are buffers for; ends it when there is nothing left to do.
void DmaMoves::go_on(Move& move) noexcept {
  if (rank_.lost(move.whole.peer)) move.failure = Errc::peer_lost;
  for (Chunk& chunk : move.chunks) {
    if (chunk.busy || move.failure || move.position == move.body) continue;
    if (move.buffered && free_bounces_.empty()) {
      if (!std::exchange(move.waits, true)) waiting_.push_back(&move);  // at most once
      return;
    }
    start_chunk(move, chunk);
  }
  const bool rests = !move.chunks[0].busy && !move.chunks[1].busy && !move.waits;
  if (rests && (move.failure || move.position == move.body)) end(move);
}

void DmaMoves::start_chunk(Move& move, Chunk& chunk) noexcept {
  Descriptor part = move.next_part();
  // Looked at as late as this: its owner may have withdrawn it, though the tables are still there.
  const std::span<std::byte> targets = part.targets();
  const std::span<const std::byte> sources = part.sources();
  if (!device_.writes(targets.data(), targets.size()) ||
      (move.whole.put == nullptr && !memory_.is_there(move.whole.answer.segment, sources.data(), sources.size()))) {
    move.failure = Errc::out_of_segment;
    return;
  }
  if (move.buffered) {
    chunk.bounce = free_bounces_.back();
    free_bounces_.pop_back();
    part.block_bytes = std::min<std::uint64_t>(part.block_bytes, PacketArea::kBounceBytes);
    std::byte* bounce = area_.bounce(static_cast<std::size_t>(chunk.bounce));
    std::memcpy(bounce, part.source, part.block_bytes);
    device_.copied(part.block_bytes);
    part.source = bounce;
  }
  move.position += part.bytes();
  chunk.busy = true;
  try {
    engine_.copy(part, chunk);
  } catch (const Error&) {
    // Its memory has been withdrawn meanwhile.
    rest_chunk(chunk);
    move.failure = Errc::out_of_segment;
  }
}

void DmaMoves::rest_chunk(Chunk& chunk) noexcept {
  chunk.busy = false;
  if (chunk.bounce >= 0) free_bounces_.push_back(std::exchange(chunk.bounce, -1));
}

void DmaMoves::end_chunk(Chunk& chunk, bool worked) noexcept {
  Move& move = *chunk.move;
  rest_chunk(chunk);
  if (!worked) move.failure = std::make_error_code(std::errc::io_error);
  if (chunk.left_out()) move.failure = Errc::out_of_segment;
  // Those that wait go first: this one may end its life, or wait behind them.
  while (!free_bounces_.empty() && !waiting_.empty()) {
    Move* next = waiting_.front();
    waiting_.pop_front();
    next->waits = false;
    if (next != &move) go_on(*next);
  }
  go_on(move);
}

void DmaMoves::end_waiting(std::uint32_t peer) noexcept {
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    Move* move = waiting_.front();
    waiting_.pop_front();
    if (move->whole.peer != peer) {
      waiting_.push_back(move);
      continue;
    }
    move->waits = false;
    go_on(*move);
  }
}

void DmaMoves::end(Move& done) noexcept {
  const Move move = done;
  free_moves_.push_back(&done);
  Bytes rest = move.whole;
  Operation* const put = rest.put;
  --counts_[rest.peer];
  const bool lost = rank_.lost(rest.peer);
  if (lost || move.failure) {
    if (put != nullptr)
      host_.finish(*put, lost ? make_error_code(Errc::peer_lost) : move.failure);
    else if (!lost)
      send_done(PacketType::got, rest.answer.cookie, rest.peer, 0, move.failure);
    return;
  }
  if (move.head > 0) {
    rest.count = move.head;
    send_data(rest, move.tail == 0);
  }
  if (move.tail > 0) {
    rest.source += move.head + move.body;
    rest.target += move.head + move.body;
    rest.count = move.tail;
    send_data(rest, true);
  }
  if (move.head + move.tail > 0) return;
  if (put == nullptr) return send_done(PacketType::got, rest.answer.cookie, rest.peer, 0, {});
  if (goes_along(*put)) sender_.send(put->signal.rank, {.header = signal_of(*put)});
  finish(*put);
}

}  // namespace coracle::internals::tca
