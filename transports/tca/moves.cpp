// How the bytes of puts and of answered gets go.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "transports/tca/tca_transport.hpp"

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

/// For its target, who looks whether it still has them: of the bytes, and of the signal.
std::uint64_t segments_of(const Operation* put) noexcept {
  if (put == nullptr) return RemoteAddress::kWholeMemory;
  const std::uint64_t signals = put->signal_add > 0 ? put->signal.segment : RemoteAddress::kOwnSegment;
  return signals << 32 | put->remote.segment;
}

}  // namespace

/// Chooses the mode.
void TcaTransport::deliver(Operation* put, const Answer& answer, std::uint32_t peer, const std::byte* source,
                           std::byte* target, std::uint64_t bytes) noexcept {
  const bool registered = is_registered(source, bytes);
  const bool whole_units = offset_in_unit(source) == 0 && offset_in_unit(target) == 0 && bytes % kUnit == 0;
  if (registered && whole_units) {
    ++modes_.memory_to_memory;
    // An answer's packet must not have left when its bytes turn out to be withdrawn, at either end: exposed memory and
    // the asker's own may lie in exposed memory, too.
    const bool lasts = region_.contains(source, bytes) && region_.contains(target, bytes);
    const bool has_packet = put == nullptr ? lasts && !may_be_withdrawn(answer.segment) : goes_along(*put);
    if (has_packet && bytes <= kChainedBytesMax) return chain_move(put, answer, peer, {source, target, bytes});
    return begin_move(put, answer, peer, source, target, bytes, false);
  }
  // A short one goes by one packet, rather than by a table of its own and packets for its ends.
  const bool is_short = bytes <= PacketSlot::kPayloadBytes;
  if (!is_short && registered && offset_in_unit(source) == offset_in_unit(target)) {
    ++modes_.memory_to_memory;
    return begin_move(put, answer, peer, source, target, bytes, false);
  }
  if (registered && offset_in_unit(source) == 0 && offset_in_unit(target) != 0) {
    ++modes_.memory_to_buffer;
  } else if (is_short) {
    ++modes_.buffer_to_buffer;
  } else {
    ++modes_.buffer_to_memory;
    return begin_move(put, answer, peer, source, target, bytes, true);
  }
  send_data(put, answer, peer, source, target, bytes, true);
}

/// By packets. `last`: nothing more belongs to the put or get.
void TcaTransport::send_data(Operation* put, const Answer& answer, std::uint32_t peer, const std::byte* source,
                             std::byte* target, std::uint64_t bytes, bool last) noexcept {
  Outgoing outgoing;
  outgoing.header.kind = PacketType::data;
  outgoing.header.words = 4;
  outgoing.header.word = {reinterpret_cast<std::uint64_t>(target)};
  // What a get has asked for goes to its buffer, which stays.
  outgoing.header.word[3] = segments_of(put);
  if (last && put != nullptr && goes_along(*put)) {
    outgoing.header.has_signal = 1;
    outgoing.header.word[1] = reinterpret_cast<std::uint64_t>(address_of(put->signal));
    outgoing.header.word[2] = put->signal_add;
  }
  outgoing.source = source;
  outgoing.bytes = bytes;
  if (last) outgoing.operation = put;
  if (put == nullptr) outgoing.answer = answer;
  send(peer, std::move(outgoing));
  // What was withdrawn by now may have been found missing by now.
  if (last && put == nullptr) send_got(answer.cookie, peer, is_there(answer.segment, source, bytes) ? 0 : EFAULT);
}

/// With the packet that tells of it, in one table: the packet comes after the bytes.
void TcaTransport::chain_move(Operation* put, const Answer& answer, std::uint32_t peer,
                              const Descriptor& whole) noexcept {
  Outgoing outgoing;
  if (put != nullptr) {
    outgoing.header.kind = PacketType::signal;
    outgoing.header.words = 4;
    outgoing.header.has_signal = 1;
    outgoing.header.word = {0, reinterpret_cast<std::uint64_t>(address_of(put->signal)), put->signal_add,
                            segments_of(put)};
    outgoing.operation = put;
  } else {
    outgoing.header.kind = PacketType::got;
    outgoing.header.words = 2;
    outgoing.header.cookie = answer.cookie;
  }
  outgoing.ahead = whole;
  send(peer, std::move(outgoing));
}

void TcaTransport::send_got(std::uint64_t cookie, std::uint32_t peer, int error) noexcept {
  Outgoing outgoing;
  outgoing.header.kind = PacketType::got;
  outgoing.header.words = 2;
  outgoing.header.cookie = cookie;
  outgoing.header.word = {0, static_cast<std::uint64_t>(error)};
  send(peer, std::move(outgoing));
}

void TcaTransport::send_signal(const Operation& put) noexcept {
  Outgoing outgoing;
  outgoing.header.kind = PacketType::signal;
  outgoing.header.words = 4;
  outgoing.header.has_signal = 1;
  outgoing.header.word = {0, reinterpret_cast<std::uint64_t>(address_of(put.signal)), put.signal_add,
                          segments_of(&put)};
  send(put.signal.rank, std::move(outgoing));
}

TcaTransport::Move& TcaTransport::take_move(Operation* put, const Answer& answer, std::uint32_t peer) noexcept {
  if (free_moves_.empty()) {
    moves_.push_back(std::make_unique<Move>());
    free_moves_.push_back(moves_.back().get());
  }
  Move& move = *free_moves_.back();
  free_moves_.pop_back();
  move.transport = this;
  move.operation = put;
  move.answer = answer;
  move.peer = peer;
  ++state_of(peer).moves;
  move.head = move.tail = move.position = 0;
  move.row = {nullptr, nullptr, 0};
  move.buffered = move.waits = false;
  move.failure = {};
  for (Chunk& chunk : move.chunks) chunk.move = &move;
  start_watch();
  return move;
}

void TcaTransport::begin_move(Operation* put, const Answer& answer, std::uint32_t peer, const std::byte* source,
                              std::byte* target, std::uint64_t bytes, bool buffered) noexcept {
  Move& move = take_move(put, answer, peer);
  move.source = source;
  move.target = target;
  move.head = (kUnit - offset_in_unit(target)) % kUnit;
  move.body = (bytes - move.head) / kUnit * kUnit;
  move.tail = bytes - move.head - move.body;
  move.buffered = buffered;
  go_on(move);
}

/// What the device is to do after what it has in hand.
Descriptor TcaTransport::Move::next_part() const noexcept {
  if (!is_strided()) return {source + head + position, target + head + position, body - position};
  Descriptor next = row;
  const auto index = static_cast<std::int64_t>(position / row.bytes());
  next.source += index * source_row_stride;
  next.target += index * target_row_stride;
  return next;
}

/// Gives the device as much of it as there are buffers for; ends it when there is nothing left to do.
void TcaTransport::go_on(Move& move) noexcept {
  if (rank_.lost(move.peer)) move.failure = Errc::peer_lost;
  for (Chunk& chunk : move.chunks) {
    if (chunk.busy || move.failure || move.position == move.body) continue;
    if (move.buffered && free_bounces_.empty()) {
      if (!std::exchange(move.waits, true)) waiting_moves_.push_back(&move);  // at most once
      return;
    }
    start_chunk(move, chunk);
  }
  const bool rests = !move.chunks[0].busy && !move.chunks[1].busy && !move.waits;
  if (rests && (move.failure || move.position == move.body)) end_move(move);
}

void TcaTransport::start_chunk(Move& move, Chunk& chunk) noexcept {
  Descriptor part = move.next_part();
  // Looked at as late as this: its owner may have withdrawn it, though the tables are still there.
  const std::span<std::byte> targets = part.targets();
  const std::span<const std::byte> sources = part.sources();
  if (!device_->writes(targets.data(), targets.size()) ||
      (move.operation == nullptr && !is_there(move.answer.segment, sources.data(), sources.size()))) {
    move.failure = Errc::out_of_segment;
    return;
  }
  if (move.buffered) {
    chunk.bounce = free_bounces_.back();
    free_bounces_.pop_back();
    part.block_bytes = std::min<std::uint64_t>(part.block_bytes, PacketArea::kBounceBytes);
    std::byte* bounce = area_.bounce(static_cast<std::size_t>(chunk.bounce));
    std::memcpy(bounce, part.source, part.block_bytes);
    device_->copied(part.block_bytes);
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

void TcaTransport::rest_chunk(Chunk& chunk) noexcept {
  chunk.busy = false;
  if (chunk.bounce >= 0) free_bounces_.push_back(std::exchange(chunk.bounce, -1));
}

void TcaTransport::end_chunk(Chunk& chunk, bool worked) noexcept {
  Move& move = *chunk.move;
  rest_chunk(chunk);
  if (!worked) move.failure = std::make_error_code(std::errc::io_error);
  if (chunk.left_out()) move.failure = Errc::out_of_segment;
  // Those that wait go first: this one may end its life, or wait behind them.
  while (!free_bounces_.empty() && !waiting_moves_.empty()) {
    Move* next = waiting_moves_.front();
    waiting_moves_.pop_front();
    next->waits = false;
    if (next != &move) go_on(*next);
  }
  go_on(move);
}

/// Those to this peer that wait for a buffer need none any more.
void TcaTransport::end_waiting_moves(std::uint32_t peer) noexcept {
  for (std::size_t left = waiting_moves_.size(); left > 0; --left) {
    Move* move = waiting_moves_.front();
    waiting_moves_.pop_front();
    if (move->peer != peer) {
      waiting_moves_.push_back(move);
      continue;
    }
    move->waits = false;
    go_on(*move);
  }
}

void TcaTransport::end_move(Move& done) noexcept {
  const Move move = done;
  free_moves_.push_back(&done);
  --state_of(move.peer).moves;
  const bool lost = rank_.lost(move.peer);
  if (lost || move.failure) {
    if (move.operation != nullptr)
      finish(*move.operation, lost ? make_error_code(Errc::peer_lost) : move.failure);
    else if (!lost)
      send_got(move.answer.cookie, move.peer, move.failure == Errc::out_of_segment ? EFAULT : EIO);
    return;
  }
  if (move.head > 0)
    send_data(move.operation, move.answer, move.peer, move.source, move.target, move.head, move.tail == 0);
  if (move.tail > 0) {
    const std::uint64_t end = move.head + move.body;
    send_data(move.operation, move.answer, move.peer, move.source + end, move.target + end, move.tail, true);
  }
  if (move.head + move.tail > 0) return;
  if (move.operation == nullptr) return send_got(move.answer.cookie, move.peer, 0);
  if (goes_along(*move.operation)) send_signal(*move.operation);
  finish_put(*move.operation);
}

/// All bytes are there, and the signal has been sent that goes along.
void TcaTransport::finish_put(Operation& put) noexcept {
  if (put.signal_add > 0 && !goes_along(put)) send_signal(put);
  finish(put, {});
}

}  // namespace coracle::internals::tca
