// Reductions among the members of a team on one node.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/data/reduction.hpp"
#include "collectives/node/local_collective.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::within {

/// result[i] = theirs[i] op own[i], or the other way where the local member comes after this member; `theirs` at
/// `offset` of what it has given or exposes.
Task<> combine(LocalCollective& local, std::uint32_t other, std::size_t offset, std::span<const std::byte> own,
               std::byte* result, const Reduction& reduction);
/// `result`: all local members' data at `offset`, combined in their order, of which `own` is this one's.
Task<> combine_all(LocalCollective& local, std::size_t offset, std::span<const std::byte> own, std::byte* result,
                   const Reduction& reduction);

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

}  // namespace coracle::internals::within
