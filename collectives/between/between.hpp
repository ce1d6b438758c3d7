// Collectives among a group, by messages: between the nodes of a team, or among all its members where nodes don't help.
// In which way, the group says (Group::algorithm). Each is made for any number of positions and keeps the order of
// non-commutative operations. Buffers belong to it until it has returned; `reduction` and `blocks` must live as long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/between/group.hpp"
#include "collectives/data/blocks.hpp"
#include "collectives/data/reduction.hpp"
#include "runtime/core/task.hpp"

namespace coracle::internals::between {

/// `values`, in place. Recursive doubling; recursive halving, then doubling (Rabenseifner); or each its block (see
/// reduce_scatter), then a ring, which needs no folding.
Task<> all_reduce(Group group, std::span<std::byte> values, const Reduction& reduction);
/// The result stands in `values` of `root`; those of others are overwritten. Binomial; or recursive halving, and then
/// each sends its part to `root`.
Task<> reduce(Group group, std::span<std::byte> values, const Reduction& reduction, std::uint32_t root);
/// Of `values`, which is one block for each position, this one's into `mine`. Pairwise: each gets its own block of all
/// others. Doubling and halving: an all_reduce, of which each keeps its own block; fewer steps.
Task<> reduce_scatter(Group group, std::span<const std::byte> values, std::span<std::byte> mine, const Blocks& blocks,
                      const Reduction& reduction);

enum class Known : std::uint8_t { everywhere, at_root };

/// `mine` of each into its block of `all` of `root`. `blocks`, `all`: at root; `blocks` elsewhere only where they are
/// known everywhere. Then they may go by a binomial tree, else straight to the root.
Task<> gather(Group group, std::span<const std::byte> mine, std::span<std::byte> all, const Blocks& blocks, Known known,
              std::uint32_t root);
/// The way back.
Task<> scatter(Group group, std::span<const std::byte> all, std::span<std::byte> mine, const Blocks& blocks,
               Known known, std::uint32_t root);
/// Each position's block of `all`, where its own stands already. Bruck's algorithm, or a ring.
Task<> gather_all(Group group, std::span<std::byte> all, const Blocks& blocks);

/// Block i of `source` into this position's block of `target` at i. Blocks of the same size: perhaps by Bruck's
/// algorithm; else pair by pair, where `but_own`, if not null, says who is left out: the members of the own node.
Task<> all_to_all(Group group, std::span<const std::byte> source, const Blocks& source_blocks,
                  std::span<std::byte> target, const Blocks& target_blocks, bool same_size, const TeamNodes* but_own);
/// Whether blocks of this size go by Bruck's algorithm, over other positions.
bool forwards_all_to_all(const Group& group, std::size_t block_bytes);

/// `before`: becomes the combination of `values` of all positions before this one (untouched at position 0).
Task<> exclusive_scan(Group group, std::span<const std::byte> values, std::span<std::byte> before,
                      const Reduction& reduction);

}  // namespace coracle::internals::between
