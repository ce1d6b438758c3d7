// Reductions among the members of a team on one node.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/data/reduction.hpp"
#include "collectives/node/local_collective.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::within {

/// Small data (see LocalCollective::given_bytes_max): `local` give it, and go on. At `root` (a local index): all of it
/// combined in `result`, which may be `values`.
Task<> reduce_small(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                    std::uint32_t root, const Reduction& reduction);

/// Whether local members can expose their values, and two results of one element fit into the arena: the same at all
/// members.
bool suits_reduce_large(Team& team, const Reduction& reduction) noexcept;

/// Large data (see suits_reduce_large), exposed where it lies: each local member combines its slice of all, and those
/// with a `result` (which may be `values`; else empty) copy all slices. Returns when `values` may be reused; local
/// members stand at the step that it gives.
Task<std::uint64_t> reduce_large(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                                 const Reduction& reduction);

/// `data` of the local member at `root` into that of all others: through the arena if it is small, else exposed.
/// `step`: greater than any before in this round.
Task<> spread(LocalCollective& local, std::span<std::byte> data, std::uint32_t root, std::uint64_t step, bool small);

}  // namespace coracle::internals::within
