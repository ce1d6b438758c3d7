// Group: those members of a team that take part in one phase of a collective, and what they send each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/choice/model.hpp"
#include "runtime/core/task.hpp"
#include "runtime/team/algorithm.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// A value, of one collective of one member. Positions count from 0, in the team's order.
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

  static constexpr std::uint32_t kSteps = 1 << 16;

 private:
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
