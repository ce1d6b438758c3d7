// Team: ordered ranks that act together. The collectives are declared here and live in collectives/, one file each.
#pragma once

#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/event.hpp"
#include "runtime/remote.hpp"
#include "runtime/task.hpp"

namespace coracle {

class Rank;

/// A team's signals, at the same offset of every member's segment, so that nobody has to ask for them.
struct TeamArea {
  Signal arrived;   ///< Raised by this member's children in the barrier's tree.
  Signal released;  ///< Raised by its parent.

  static constexpr std::uint32_t kSlots = 256;  ///< Teams that one rank can be in at a time.
  static constexpr std::uint64_t kAllBytes = 64 * 1024;
};
static_assert(sizeof(TeamArea) * TeamArea::kSlots <= TeamArea::kAllBytes);

/// Used by its own rank's thread. Every member must call the same collectives in the same order; several may be in
/// flight at once (start them as tasks in that order). Buffers belong to the collective until it has returned.
class Team {
 public:
  /// All ranks of the job.
  explicit Team(Rank& rank);
  /// `members`: rank numbers in the team's order, the same at every member, this rank among them; `slot`: agreed by
  /// all.
  Team(Rank& rank, std::vector<std::uint32_t> members, std::uint32_t slot);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  Rank& rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }
  /// This rank's place in the team.
  std::uint32_t index() const noexcept { return index_; }
  /// The rank at a place.
  std::uint32_t member(std::uint32_t index) const noexcept { return members_.empty() ? index : members_[index]; }
  std::uint32_t slot() const noexcept { return slot_; }

  /// Returns when every member has called it.
  Task<> barrier();
  /// `data` of the member at `root` is copied into `data` of all others. The same size everywhere.
  template <class T>
  Task<> broadcast(std::span<T> data, std::uint32_t root);
  /// The same for a std::vector, std::array or the like.
  template <std::ranges::contiguous_range Range>
    requires(!std::ranges::view<Range>)
  Task<> broadcast(Range& data, std::uint32_t root);
  /// Every member's value, in the team's order.
  template <class T>
  Task<std::vector<T>> gather_all(T value);
  /// Combines all members' values by `operation(T, T) -> T`, associative, in the team's order; the same result
  /// everywhere.
  template <class T, class Operation>
    requires std::is_trivially_copyable_v<T>
  Task<T> all_reduce(T value, Operation operation);
  /// As above, element by element and in place.
  template <class T, class Operation>
  Task<> all_reduce(std::span<T> values, Operation operation);
  template <class T, class Operation>
  Task<> all_reduce(std::vector<T>& values, Operation operation) {
    return all_reduce(std::span<T>(values), std::move(operation));
  }
  /// Members with the same `color` form a new team, in the order of `key` (ties: of their place here). Collective.
  Task<std::unique_ptr<Team>> split(std::uint32_t color, std::uint32_t key);

  /// For collectives: the number of the next collective on this team, the same at every member.
  std::uint64_t next_sequence() noexcept { return ++sequence_; }
  /// For collectives: this team's area at a member.
  Remote<TeamArea> area(std::uint32_t index) const noexcept {
    return Remote<TeamArea>(RemoteAddress{std::uint64_t{slot_} * sizeof(TeamArea), member(index), 0});
  }
  TeamArea& own_area() const noexcept;
  /// For collectives that use the team's signals: waits for this rank's earlier ones, so that the counts don't mix.
  Task<std::uint64_t> enter_signals();
  void leave_signals() noexcept;

 private:
  Rank& rank_;
  std::vector<std::uint32_t> members_;  // empty: all ranks, each at its own place
  std::uint32_t size_;
  std::uint32_t index_;
  std::uint32_t slot_;
  std::uint64_t sequence_ = 0;
  std::uint64_t entered_ = 0;
  std::uint64_t left_ = 0;
  Event left_one_;
};

/// Which of a rank's team slots are taken.
class TeamSlots {
 public:
  explicit TeamSlots(Rank&) noexcept { taken_[0] = true; }
  bool taken(std::uint32_t slot) const noexcept { return taken_[slot]; }
  void take(std::uint32_t slot) noexcept { taken_[slot] = true; }
  void release(std::uint32_t slot) noexcept { taken_[slot] = false; }

 private:
  bool taken_[TeamArea::kSlots] = {};
};

}  // namespace coracle
