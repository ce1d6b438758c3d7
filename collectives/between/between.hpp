// Collectives among a group, by messages: between the nodes of a team, or among all its members where nodes don't help.
// In which way, the group says (Group::algorithm). Each is made for any number of positions and keeps the order of
// non-commutative operations. Buffers belong to it until it has returned; `reduction` and `blocks` must live as long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/choice/model.hpp"
#include "collectives/data/blocks.hpp"
#include "collectives/data/reduction.hpp"
#include "runtime/core/task.hpp"
#include "runtime/team/choices.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Those members of a team that take part in one phase of a collective, and what they send each other. A value, of one
/// collective of one member. Positions count from 0, in the team's order.
class Group {
 public:
  /// Every member, at its own position.
  Group(Team& team, std::uint64_t sequence) noexcept
      : team_(&team), sequence_(sequence), size_(team.size()), position_(team.index()) {}

  /// One of each node, at the number of its node: its first member, or, on the node of `root` (an index in the team),
  /// `root` itself.
  static Group of_nodes(Team& team, std::uint64_t sequence, std::uint32_t root) noexcept {
    Group group(team, sequence);
    group.size_ = team.nodes().count();
    group.position_ = team.nodes().own();
    group.by_nodes_ = true;
    group.root_ = root;
    return group;
  }
  static Group of_nodes(Team& team, std::uint64_t sequence) noexcept {
    return of_nodes(team, sequence, team.nodes().member(0, 0));
  }

  /// The last member of each node, at the number of its node.
  static Group of_last(Team& team, std::uint64_t sequence) noexcept {
    Group group = of_nodes(team, sequence);
    group.root_ = kLast;
    return group;
  }

  /// The same members in another phase, or in a part of the work that goes on beside the others: with steps of its own,
  /// by `number`, which counts from this group's own. A collective has 256 of them.
  Group phase(std::uint32_t number) const noexcept {
    Group other = *this;
    other.first_step_ += number * kSteps;
    return other;
  }

  /// The same where the caller wants the collective to go so.
  Group choosing(Algorithm algorithm) const noexcept {
    Group other = *this;
    other.asked_ = algorithm;
    return other;
  }
  /// How a collective with so many bytes (see Work) goes: as the caller wants, or the environment, or by the cost
  /// model.
  Algorithm algorithm(Collective collective, std::size_t bytes) const;

  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t position() const noexcept { return position_; }

  /// Returns when `data` may be reused. One message per step (below kSteps), sender and receiver.
  Task<> send(std::uint32_t to, std::uint32_t step, std::span<const std::byte> data) const;
  /// Throws Error (bad_input) when another size comes than `data` has.
  Task<> receive(std::uint32_t from, std::uint32_t step, std::span<std::byte> data) const;

  /// `part` as a phase that tools are told of.
  Task<> in_phase(const char* name, Task<> part) const;

  static constexpr std::uint32_t kSteps = 1 << 16;

 private:
  static Task<> run_in_phase(Group group, const char* name, Task<> part);

  static constexpr std::uint32_t kLast = ~std::uint32_t{0};

  /// Index in the team.
  std::uint32_t member(std::uint32_t position) const noexcept {
    if (!by_nodes_) return position;
    if (root_ == kLast) return team_->nodes().member(position, team_->nodes().size_of(position) - 1);
    return position == team_->nodes().node_of(root_) ? root_ : team_->nodes().member(position, 0);
  }
  std::uint64_t tag(std::uint32_t step) const noexcept;

  Team* team_;
  std::uint64_t sequence_;
  std::uint32_t size_;
  std::uint32_t position_;
  std::uint32_t first_step_ = 0;
  bool by_nodes_ = false;
  Algorithm asked_ = Algorithm::automatic;
  std::uint32_t root_ = 0;
};

/// Sends and receives at once.
Task<> exchange(Group group, std::uint32_t step, std::uint32_t to, std::span<const std::byte> sent, std::uint32_t from,
                std::span<std::byte> received);

}  // namespace coracle::internals

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
/// `data` of `root` into that of all others, by a binomial tree.
Task<> broadcast(Group group, std::span<std::byte> data, std::uint32_t root);
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
