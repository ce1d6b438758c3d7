// gather and scatter among the members of a team on one node.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/node/mates.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::within {

/// A mate's part of a gather: small data is left in the arena; large is lent until `leader` (a place) has it all.
Task<> offer(Mates& mates, std::span<const std::byte> mine, std::uint32_t leader);
/// The leader's part: `place_of(mate)` gives the span into which a mate's block goes. Afterwards collected().
template <class PlaceOf>
Task<> collect(Mates& mates, PlaceOf place_of) {
  for (std::uint32_t step = 1; step < mates.count(); ++step) {
    const std::uint32_t mate = (mates.place() + step) % mates.count();
    co_await mates.wait(mate, 1);
    const std::span<std::byte> target = place_of(mate);
    mates.check_bytes(mate, target.size());
    co_await mates.take(mate, 0, target);
  }
}
/// Tells those who lend.
void collected(Mates& mates) noexcept;

/// The leader's part of a scatter: each mate will take its part of `data`. Small data is left in the arena. Large is
/// lent: then it returns when all have theirs. The first that the leader says in this round.
Task<> hand_out(Mates& mates, std::span<const std::byte> data);
/// A mate's part, of `whole_bytes` that the leader has.
Task<> fetch(Mates& mates, std::uint32_t leader, std::size_t whole_bytes, std::size_t offset,
             std::span<std::byte> target);
/// Afterwards, once all that a mate wants has been fetched.
void fetched(Mates& mates) noexcept;

}  // namespace coracle::internals::within
