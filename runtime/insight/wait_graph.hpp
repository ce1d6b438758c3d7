// WaitGraph: which ranks wait for which, and which of them can't go on whatever happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/insight/rank_waits.hpp"

namespace coracle::internals::insight {

/// Built of the states of all ranks of a job, which it refers to. A rank goes on when any of its waits ends (an
/// OR-model), and a collective ends when all of its missing members have come (an AND-model): so whoever may still be
/// helped by time, the kernel, a device, or a rank that runs is taken to go on, and whom nobody is left to help does
/// not.
class WaitGraph {
 public:
  /// `states`: by rank. `stall_ms`: those whose waits have changed later than so long ago go on.
  WaitGraph(std::span<const RankState> states, std::uint64_t stall_ms);

  std::size_t size() const noexcept { return states_.size(); }
  const RankState& state(std::uint32_t rank) const noexcept { return states_[rank]; }
  /// It waits, and all its waits are those of stuck ranks.
  bool is_stuck(std::uint32_t rank) const noexcept { return !goes_on_[rank] && is_still(rank); }
  bool goes_on(std::uint32_t rank) const noexcept { return goes_on_[rank]; }
  /// It waits, and has done so for the stall time.
  bool is_still(std::uint32_t rank) const noexcept;

  /// Members of `team` that have not begun its collective `number`, as far as is known. `own`: how a rank that has
  /// tells of it.
  std::vector<std::uint32_t> missing(const TeamProgress& own) const;
  /// How `rank` tells of a team; null where it does not.
  const TeamProgress* progress(std::uint32_t rank, std::uint32_t team) const noexcept;
  /// The ranks that a wait depends on by name.
  std::vector<std::uint32_t> awaited(std::uint32_t rank, const Wait& wait) const;
  /// All that `rank` depends on by name, each once.
  std::vector<std::uint32_t> awaited(std::uint32_t rank) const;
  /// Ranks that depend on each other in a ring, beginning with the least; empty: there is none among the stuck ones
  /// that `rank` leads to.
  std::vector<std::uint32_t> ring_from(std::uint32_t rank) const;

 private:
  bool may_end(std::uint32_t rank, const Wait& wait) const;
  bool collective_may_end(std::uint32_t rank) const;
  bool another_goes_on(std::uint32_t rank) const noexcept;
  void note_who_goes_on();

  std::span<const RankState> states_;
  std::uint64_t stall_ms_;
  std::vector<bool> goes_on_;
  std::size_t going_on_ = 0;
};

}  // namespace coracle::internals::insight
