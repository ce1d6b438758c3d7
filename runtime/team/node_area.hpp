// NodeArea: what the members of a team on one node share, and through which they act together without messages: each
// has a part that the others read. A collective of a member is a Round on it.
//
// This is the lock-free form of the collective request queue of MPIActor (NUDT): since every member calls the same
// collectives in the same order, the number of a round is its place in the queue, and nothing has to be searched for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/core/cpu.hpp"
#include "runtime/core/event.hpp"
#include "runtime/job/node_area_part.hpp"
#include "runtime/job/round_arena.hpp"
#include "runtime/job/segment.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/team/handed_rooms.hpp"

namespace coracle::internals {

/// A short wait for the one member that is still missing, where ranks outnumber cores. The last who is missing is often
/// about to come on another core: looks for it for less time than leaving the core to others and coming back would
/// take, unless that was in vain lately. One rank's, of one team.
class SpinForLast {
 public:
  explicit SpinForLast(bool crowded) noexcept : crowded_(crowded) {}

  /// Returns when `come()`, or after half a microsecond.
  template <class Come>
  void operator()(const Come& come) noexcept {
    constexpr int kLooks = 30;
    if (!crowded_ || (skipped_ != 0 && --skipped_ != 0)) return;
    int look = 0;
    for (; look < kLooks && !come(); ++look) {
      cpu_pause();
      cpu_pause();
    }
    note(look < kLooks);
  }

 private:
  void note(bool seen) noexcept {
    constexpr std::uint32_t kVainMax = 8;
    constexpr std::uint32_t kSkipped = 64;
    vain_ = seen ? 0 : vain_ + 1;
    if (vain_ < kVainMax) return;
    vain_ = 0;
    skipped_ = kSkipped;
  }

  const bool crowded_;         // ranks outnumber cores
  std::uint32_t vain_ = 0;     // since the last that was not
  std::uint32_t skipped_ = 0;  // so many still
};

class Rank;
class TeamCore;
struct TeamPlan;

/// Of one member; its rank's thread only.
class NodeArea {
 public:
  /// Of the world, without `plan`: its memory is part of the job's region. Otherwise takes the plan's memory, whose
  /// bytes are zero.
  NodeArea(Rank& rank, TeamCore& team, TeamPlan* plan);
  /// The local members may still read this member's part: Teams keeps the memory until all have departed.
  ~NodeArea();
  NodeArea(const NodeArea&) = delete;
  NodeArea& operator=(const NodeArea&) = delete;

  /// Members on this node.
  std::uint32_t local_size() const noexcept { return local_size_; }
  /// This one's index among them.
  std::uint32_t local_index() const noexcept { return local_index_; }
  /// The rank at a local index.
  std::uint32_t rank_at(std::uint32_t local_index) const noexcept {
    return of_world_ ? first_rank_ + local_index : ranks_[local_index];
  }
  /// Number of the next round; a collective takes all it needs when it starts, the same at every local member.
  std::uint64_t take_number() noexcept { return ++last_number_; }
  /// What this member's next round writes first begins to come to its core, since others have read it there: of a round
  /// that gives `bytes`, and begins at once. Where the last two have waited for nobody, what later ones write comes,
  /// too: with rounds in a row, as of a root that broadcasts, one is too short for a line to come.
  void prefetch_next(std::size_t bytes) noexcept {
    constexpr std::size_t kRoomBytes = 256;
    constexpr std::uint64_t kAhead = 3;
    const bool goes_ahead = rounds_ahead_ >= 2;
    const bool by_arena = bytes > Contribution::kInlineBytesMax;
    const bool with_pair = !by_arena && bytes > Contribution::kLineInlineBytesMax;
    prefetch_contribution(last_number_ + 1, with_pair);
    if (goes_ahead) prefetch_contribution(last_number_ + 1 + kAhead, with_pair);
    if (by_arena && rooms_.next() == nullptr)
      prefetch_for_writing(arena_.next(), goes_ahead ? 2 * kRoomBytes : kRoomBytes);
  }
  /// A round of short data is over; `has_awaited`: anybody.
  void note_round(bool has_awaited) noexcept { rounds_ahead_ = has_awaited ? 0 : rounds_ahead_ + 1; }
  /// Whether local members reach the `bytes` at `address` by load and store (in `process` placement only the job's
  /// region).
  bool reaches(const void* address, std::size_t bytes) const noexcept;
  /// Whether local members can copy from there: what they don't reach, by the kernel.
  bool can_expose(const void* address, std::size_t bytes) const noexcept {
    return by_kernel_ || reaches(address, bytes);
  }
  /// Whether members of a team on one node copy by the kernel what they don't reach: all of them, or none.
  bool by_kernel() const noexcept { return by_kernel_; }
  /// Whether ranks share cores.
  bool is_crowded() const noexcept { return !spins_ && !in_time_; }
  /// The most that Round::allocate_when_free() gives.
  std::uint64_t room_bytes_max() const noexcept { return arena_.room_bytes_max(); }
  /// The most that Round::hand() takes, and less than room_bytes_max(); 0: nothing. The same at both members.
  std::size_t handed_bytes_max() const noexcept { return rooms_.room_bytes(); }

 private:
  friend class Round;
  friend class RoundDecisions;
  friend class Teams;

  NodeAreaPart& part(std::uint32_t local_index) noexcept {
    return of_world_ ? *reinterpret_cast<NodeAreaPart*>(world_parts_ + local_index * world_part_bytes_)
                     : *parts_[local_index];
  }
  NodeAreaPart& own() noexcept { return part(local_index_); }
  void prefetch_contribution(std::uint64_t number, bool with_pair) noexcept {
    Contribution& contribution = own().contributions.of(number);
    prefetch_for_writing(reinterpret_cast<const std::byte*>(&contribution), sizeof contribution);
    if (with_pair) prefetch_for_writing(contribution.beside(), sizeof contribution);
  }
  /// Rounds up to this one are over for every local member, as far as is known.
  std::uint64_t floor(bool look) noexcept;
  void check_whole() const;
  /// A round of this member is over; mostly its earliest.
  void retire(std::uint64_t number) noexcept {
    if (number != retired_ + 1 || retired_behind_gap_ != 0) [[unlikely]]
      return retire_out_of_order(number);
    retired_ = number;
    tell_retired();
  }
  void retire_out_of_order(std::uint64_t number) noexcept;
  void tell_retired() noexcept {
    raise(own().retired, retired_);
    retired_more_.set();
    retired_more_.reset();
  }
  void wake(std::uint64_t sleepers) noexcept;
  void raise(Flag& flag, std::uint64_t to) noexcept {
    const std::uint64_t sleepers = light_ ? flag.raise_lightly(to) : flag.raise(to);
    if (sleepers != 0) [[unlikely]]
      wake(sleepers);
  }
  void make_parts_resident() noexcept;
  std::byte* allocate(std::uint64_t number, std::size_t bytes);
  std::uint64_t own_bit() const noexcept { return std::uint64_t{1} << local_index_ % 64; }

  Rank& rank_;
  TeamCore& team_;
  const std::uint32_t local_size_;
  const std::uint32_t local_index_;
  const bool of_world_;
  const bool light_;    // raises, see Flag
  const bool in_time_;  // copies take some: in `sim`
  const bool spins_;    // each rank has a core
  const bool by_kernel_;
  SpinForLast spin_for_last_;
  // Of the world, whose parts lie in a row: no lists, which with thousands of ranks in one process (`sim`) would be
  // most of its memory, and all alike.
  const std::uint32_t first_rank_;
  std::byte* const world_parts_;
  const std::uint64_t world_part_bytes_;
  // Of other teams:
  std::vector<std::uint32_t> ranks_;  // by local index
  std::vector<NodeAreaPart*> parts_;  // by local index
  Slab<std::byte> memory_;            // of the own part
  std::uint32_t rounds_ahead_ = 0;    // the last ones, which have waited for nobody
  std::uint64_t last_number_ = 0;
  std::uint64_t bytes_since_look_ = 0;  // taken of the arena since floor() has looked for it
  std::uint64_t floor_ = 0;
  std::uint64_t retired_ = 0;                                     // up to here without a gap
  std::uint64_t retired_after_[NodeAreaPart::kRounds / 64] = {};  // a bit for each that is over behind the gap,
  std::uint32_t retired_behind_gap_ = 0;                          // so many
  Event retired_more_;
  RoundArena arena_;
  HandedRooms rooms_;  // of two members
};

}  // namespace coracle::internals
