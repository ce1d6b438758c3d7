// Long data of two members, piece by piece.
#include "collectives/node/exchanged_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/node/exchanged_values.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals {

std::size_t ExchangedPieces::piece_bytes(Team& team, std::size_t element_bytes) noexcept {
  // All four rooms stay in a core's second-level cache: by pieces of 64 or 256 KiB it takes up to a tenth longer.
  // Shorter ones, as of the rooms of a small arena, would cost more waits than they gain.
  constexpr std::size_t kPieceBytesMax = 128 * 1024;
  constexpr std::size_t kPieceBytesMin = 32 * 1024;
  const std::size_t bytes = std::min(within::handed_bytes_max(team), kPieceBytesMax);
  return bytes < kPieceBytesMin ? 0 : bytes / element_bytes * element_bytes;
}

bool ExchangedPieces::suits(Team& team, std::size_t one, std::size_t other, std::size_t element_bytes) noexcept {
  constexpr std::uint64_t kPiecesMax = std::uint64_t{1} << (NodeAreaPart::kStepBits - 2);
  const std::size_t piece = piece_bytes(team, element_bytes);
  // What fits into a room goes in one, and in small arenas more than that may be given.
  const std::size_t given_max = std::max(within::handed_bytes_max(team), within::given_bytes_max(team));
  return piece > 0 && std::min(one, other) > given_max && std::max(one, other) / piece < kPiecesMax;
}

Task<> ExchangedPieces::begin() {
  Round& round = local_.round();
  rooms_[0] = round.hand(piece_bytes_);
  rooms_[1] = round.hand(piece_bytes_);
  if (rooms_[1] == nullptr) {  // too few: rooms of this collective alone
    if (rooms_[0] != nullptr) round.keep_room(rooms_[0]);
    const std::size_t bytes = (piece_bytes_ + 63) / 64 * 64;
    rooms_[0] = co_await round.allocate_when_free(kRooms * bytes);
    rooms_[1] = rooms_[0] + bytes;
  }
  give(0);
  round.expose_results(rooms_[1]);
  round.expose(rooms_[0], given_.bytes(), 1, kMark);
  if (count() == 1) co_return;
  give(1);
  round.publish(2);
}

Task<> ExchangedPieces::find_rooms_of_theirs() {
  Round& round = local_.round();
  const std::uint32_t other = 1 - local_.local_index();
  const Round::ExposedBuffer theirs = round.is_exposed(other) ? round.exposed(other) : Round::ExposedBuffer{};
  if (round.is_exposed(other) && theirs.address == nullptr) co_await local_.fail_with(other);
  if (theirs.mark == kMark || theirs.mark == 0) local_.check_bytes(other, taken_bytes_);
  if (theirs.mark != kMark)
    throw Error(
        Errc::bad_input,
        fmt::format("rank {} gives its data in another way: has it called the v kind of this collective, or does "
                    "it await another size than the {} bytes that it gets?",
                    round.node_area().rank_at(other), given_.bytes()));
  rooms_[2] = const_cast<std::byte*>(theirs.address);
  rooms_[3] = const_cast<std::byte*>(round.exposed_results(other));
}

Task<std::span<const std::byte>> ExchangedPieces::next() {
  if (taken_ > 0 && taken_ + 1 < count()) {
    give(taken_ + 1);
    local_.round().publish(taken_ + 2);
  }
  co_await local_.wait(1 - local_.local_index(), taken_ + 1);
  if (taken_ == 0) co_await find_rooms_of_theirs();
  const std::span<const std::byte> theirs(room_of_theirs(taken_), bytes_of(taken_, taken_bytes_));
  ++taken_;
  co_return theirs;
}

void ExchangedPieces::end() noexcept {
  for (std::uint64_t piece = count() - std::min(count(), kRooms); piece < count(); ++piece)
    local_.round().keep_room(room_of_theirs(piece));
}

namespace within {

Task<> exchange_block(Team& team, LocalCollective& local, ExchangedBlock block) {
  const bool is_second = local.local_index() == 1;
  const std::size_t piece_bytes = ExchangedPieces::piece_bytes(team, block.reduction.element_bytes);
  ExchangedPieces pieces(local, block.others, block.others.size(), piece_bytes);
  co_await pieces.begin();
  for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
    const std::span<const std::byte> theirs = co_await pieces.next();
    const std::byte* const own = block.own.data() + pieces.offset(piece);
    std::byte* const result = block.result.data() + pieces.offset(piece);
    block.reduction.combine(is_second ? theirs.data() : own, is_second ? own : theirs.data(), result, theirs.size());
  }
  pieces.end();
}

Task<> exchange_bytes(Team& team, LocalCollective& local, MessageSource given, MessageTarget taken) {
  ExchangedPieces pieces(local, given, taken.bytes(), ExchangedPieces::piece_bytes(team, 1));
  co_await pieces.begin();
  for (std::uint64_t piece = 0; piece < pieces.count(); ++piece) {
    const std::span<const std::byte> theirs = co_await pieces.next();
    if (!theirs.empty()) write_part(taken, pieces.offset(piece), theirs);
  }
  pieces.end();
}

}  // namespace within

}  // namespace coracle::internals
