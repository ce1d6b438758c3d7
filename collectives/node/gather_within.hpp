// gather and scatter among the members of a team on one node.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/node/local_collective.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::within {

/// A local member's part of a gather: small data is left in the arena; large is exposed until `leader` (a local index)
/// has it all.
Task<> offer(LocalCollective& local, std::span<const std::byte> mine, std::uint32_t leader);
/// The leader's part: `block_of(local member)` gives the span into which a local member's block goes. Afterwards
/// collected().
template <class BlockOf>
Task<> collect(LocalCollective& local, BlockOf block_of) {
  for (std::uint32_t distance = 1; distance < local.count(); ++distance) {
    const std::uint32_t other = (local.local_index() + distance) % local.count();
    co_await local.wait(other, 1);
    const std::span<std::byte> target = block_of(other);
    local.check_bytes(other, target.size());
    co_await local.take(other, 0, target);
  }
}
/// Tells those who expose.
void collected(LocalCollective& local) noexcept;

/// The leader's part of a scatter: each local member will take its part of `data`. Small data is left in the arena.
/// Large is exposed: then it returns when all have theirs. The first that the leader says in this round.
Task<> hand_out(LocalCollective& local, std::span<const std::byte> data);
/// A local member's part, of `whole_bytes` that the leader has.
Task<> fetch(LocalCollective& local, std::uint32_t leader, std::size_t whole_bytes, std::size_t offset,
             std::span<std::byte> target);
/// Afterwards, once all that a local member wants has been fetched.
void fetched(LocalCollective& local) noexcept;

}  // namespace coracle::internals::within
