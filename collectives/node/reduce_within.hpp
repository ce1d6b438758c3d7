// Reductions among the members of a team on one node.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/data/reduction.hpp"
#include "collectives/node/mates.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::within {

/// result[i] = theirs[i] op own[i], or the other way where the mate comes after this member; `theirs` at `offset` of
/// what it has given or lends.
Task<> combine(Mates& mates, std::uint32_t mate, std::size_t offset, std::span<const std::byte> own, std::byte* result,
               const Reduction& reduction);
/// `result`: all mates' data at `offset`, combined in their order, of which `own` is this one's.
Task<> combine_all(Mates& mates, std::size_t offset, std::span<const std::byte> own, std::byte* result,
                   const Reduction& reduction);

/// Small data (see Mates::given_bytes_max): `mates` give it, and go on. At `root` (a place): all of it combined in
/// `result`, which may be `values`.
Task<> reduce_small(Mates& mates, std::span<const std::byte> values, std::span<std::byte> result, std::uint32_t root,
                    const Reduction& reduction);

/// Whether mates can lend their values, and two results of one element fit into the arena: the same at all members.
bool suits_reduce_large(Team& team, const Reduction& reduction) noexcept;

/// Large data (see suits_reduce_large), lent where it lies: each mate combines its slice of all, and those with a
/// `result` (which may be `values`; else empty) copy all slices. Returns when `values` may be reused; mates stand at
/// the stage that it gives.
Task<std::uint64_t> reduce_large(Mates& mates, std::span<const std::byte> values, std::span<std::byte> result,
                                 const Reduction& reduction);

}  // namespace coracle::internals::within
