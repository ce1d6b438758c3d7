// How parts are said, taken and sent.
#include "collectives/parts/local_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collectives/data/arguments.hpp"
#include "collectives/data/scratch.hpp"
#include "collectives/node/exchanged_pieces.hpp"
#include "runtime/core/error.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals {
namespace {

// Of what is exposed, where it is not given.
constexpr std::uint32_t kInPlaceMark = 1;
constexpr std::uint32_t kByMessageMark = 2;
constexpr std::uint32_t kByKernelMark = 3;

/// Where a part lies in its owner's memory.
using PartPlace = std::span<const std::byte>;

/// In `room`; false where a part is scattered.
bool list_places(const SourceBlocks& parts, std::byte* room) {
  for (std::uint32_t member = 0; member < parts.members(); ++member) {
    const MessageSource part = parts.of(member);
    if (part.is_scattered()) return false;
    const PartPlace place = part.span();
    std::memcpy(room + member * sizeof(PartPlace), &place, sizeof(PartPlace));
  }
  return true;
}

/// In `sim` a copy takes as long as one of as many bytes in a row, out of this rank's memory.
Task<> let_time_pass(Rank& rank, std::uint32_t owner, std::size_t bytes) {
  const Scratch from(bytes);
  const Scratch to(bytes);
  std::memset(from.data(), 0, bytes);
  const auto address = reinterpret_cast<std::uint64_t>(from.data());
  co_await rank.get(Remote<std::byte>({address, owner, RemoteAddress::kWholeMemory}), to.span());
}

/// Past the caches only what is a row of bytes on both sides.
void copy_block(const MessageTarget& target, const MessageSource& source, Copying how) {
  if (how == Copying::by_caches || target.is_scattered() || source.is_scattered())
    return copy_part(target, source, 0, source.bytes());
  streaming_copy(source.span(), target.span().data());
}

}  // namespace

PartsWay LocalParts::say(const SourceBlocks& parts) {
  Round& round = local_.round();
  if (within::reaches(team_)) {
    round.expose(&parts, sizeof parts, 1, kInPlaceMark);
    return PartsWay::in_place;
  }
  const std::size_t bytes = parts.members() * sizeof(PartPlace);
  std::byte* const room = within::can_expose(team_) ? round.allocate(bytes) : nullptr;
  if (room != nullptr && list_places(parts, room)) {
    round.expose(room, bytes, 1, kByKernelMark);
    return PartsWay::by_kernel;
  }
  round.expose(&parts, sizeof parts, 1, kByMessageMark);  // nobody reads there
  return PartsWay::by_message;
}

Task<> LocalParts::send(std::uint32_t to, MessageSource part) const {
  const Scratch packed(part.is_scattered() ? part.bytes() : 0);
  if (part.is_scattered()) read_part(part, 0, packed.span());
  const std::span<const std::byte> data = part.is_scattered() ? packed.span() : part.span();
  co_await Group(team_, sequence_).send(to, 0, data);
}

PartsWay LocalParts::way_of(Round& round, std::uint32_t owner) noexcept {
  if (!round.is_exposed(owner)) return PartsWay::given;
  const std::uint32_t mark = round.exposed(owner).mark;
  if (mark == kByMessageMark) return PartsWay::by_message;
  if (mark == kByKernelMark) return PartsWay::by_kernel;
  if (mark == ExchangedPieces::kMark) return PartsWay::in_pieces;
  return mark == kInPlaceMark ? PartsWay::in_place : PartsWay::given;
}

bool LocalParts::try_take(LocalCollective& local, std::uint32_t owner, const MessageTarget& target) {
  const std::span<const std::byte> given = local.round().contributed(owner);
  if (given.data() == nullptr || (given.empty() && local.has_failed(owner))) return false;
  const std::span<const std::byte> part = GivenParts::part_of(given, local.local_index(), local.count());
  if (part.size() != target.bytes()) [[unlikely]]
    throw_sizes_differ(target.bytes(), part.size(), local.round().node_area().rank_at(owner));
  if (!part.empty()) write_part(target, 0, part);
  return true;
}

Task<> LocalParts::take(std::uint32_t owner, MessageTarget target, Copying how) const {
  co_await local_.wait(owner, 1);
  switch (way_of(local_.round(), owner)) {
    case PartsWay::given:
      if (!try_take(local_, owner, target)) co_await local_.fail_with(owner);
      break;
    case PartsWay::in_place:
      co_await copy_from(owner, target, how);
      break;
    case PartsWay::by_kernel:
      co_await copy_by_kernel(owner, target);
      break;
    case PartsWay::by_message:
      co_await receive(owner, target);
      break;
    case PartsWay::in_pieces:
      throw Error(
          Errc::bad_input,
          fmt::format("rank {} gives {} bytes, where {} are awaited, or awaits another size than it gets: both "
                      "must name the same sizes",
                      local_.round().node_area().rank_at(owner), local_.round().bytes_of(owner), target.bytes()));
  }
}

Task<> LocalParts::copy_from(std::uint32_t owner, MessageTarget target, Copying how) const {
  const Round::Reading reading(local_.round(), owner);
  if (reading.address() == nullptr) co_await local_.fail_with(owner);
  const auto* parts = reinterpret_cast<const SourceBlocks*>(reading.address());
  const std::uint32_t rank = local_.round().node_area().rank_at(owner);
  const std::size_t there = parts->bytes_of(team_.index());
  if (there != target.bytes()) throw_sizes_differ(target.bytes(), there, rank);
  if (!local_.round().copies_at_once()) co_await let_time_pass(team_.rank(), rank, there);
  if (there > 0) copy_block(target, parts->of(team_.index()), how);
}

Task<> LocalParts::copy_by_kernel(std::uint32_t owner, MessageTarget target) const {
  Round& round = local_.round();
  const std::span<const std::byte> places = round.contributed(owner);
  if (places.data() == nullptr) co_await local_.fail_with(owner);
  PartPlace place;
  std::memcpy(&place, places.data() + team_.index() * sizeof(PartPlace), sizeof(PartPlace));
  if (place.size() != target.bytes())
    throw_sizes_differ(target.bytes(), place.size(), round.node_area().rank_at(owner));
  if (place.empty()) co_return;
  const Scratch packed(target.is_scattered() ? target.bytes() : 0);
  const bool copied = round.copy_from_place(owner, place.data(), target.is_scattered() ? packed.span() : target.span());
  if (!copied) co_await local_.fail_with(owner);
  if (target.is_scattered()) write_part(target, 0, packed.span());
}

Task<> LocalParts::receive(std::uint32_t owner, MessageTarget target) const {
  const Scratch packed(target.is_scattered() ? target.bytes() : 0);
  const std::span<std::byte> data = target.is_scattered() ? packed.span() : target.span();
  co_await Group(team_, sequence_).receive(owner, 0, data);
  if (target.is_scattered()) write_part(target, 0, data);
}

}  // namespace coracle::internals
