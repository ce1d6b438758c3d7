// NodeArea: what the members of a team on one node share, and through which they act together without messages: each
// has a part that the others read. A collective of a member is a Round on it.
//
// This is the lock-free form of the collective request queue of MPIActor (NUDT): since every member calls the same
// collectives in the same order, the number of a round is its place in the queue, and nothing has to be searched for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/core/streaming_copy.hpp"
#include "runtime/core/task.hpp"
#include "runtime/job/node_area_part.hpp"
#include "runtime/job/round_arena.hpp"
#include "runtime/job/segment.hpp"
#include "runtime/job/slab.hpp"
#include "runtime/rank/flag_wait.hpp"

namespace coracle::internals {

class Rank;
class TeamCore;

/// Of one member; its rank's thread only.
class NodeArea {
 public:
  /// Of the world: its memory is part of the job's region. Otherwise takes memory from the rank's segment, and says
  /// where it lies by raising `part` in the team's area.
  NodeArea(Rank& rank, TeamCore& team, bool of_world);
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
  /// Whether local members reach the `bytes` at `address` (in `process` placement only the job's region).
  bool can_expose(const void* address, std::size_t bytes) const noexcept;
  /// The most that Round::allocate_when_free() gives.
  std::uint64_t room_bytes_max() const noexcept { return arena_.room_bytes_max(); }
  /// Finds the local members' parts: once, while all of them have one.
  void meet() noexcept;

 private:
  friend class Round;
  friend class Teams;

  NodeAreaPart& part(std::uint32_t local_index) noexcept {
    return of_world_ ? *reinterpret_cast<NodeAreaPart*>(world_parts_ + local_index * world_part_bytes_)
                     : *parts_[local_index];
  }
  NodeAreaPart& own() noexcept { return part(local_index_); }
  /// Rounds up to this one are over for every local member, as far as is known.
  std::uint64_t floor(bool look) noexcept;
  void check_whole() const;
  void retire(std::uint64_t number) noexcept;
  void wake(std::uint64_t sleepers) noexcept;
  void raise(Flag& flag, std::uint64_t to) noexcept { wake(light_ ? flag.raise_lightly(to) : flag.raise(to)); }
  std::byte* allocate(std::uint64_t number, std::size_t bytes);
  /// See Round::spin_for_last: whether it is worth while, and whether it was.
  bool may_look() noexcept { return crowded_ && (looks_skipped_ == 0 || --looks_skipped_ == 0); }
  void looked(bool seen) noexcept {
    constexpr std::uint32_t kVainMax = 8;
    constexpr std::uint32_t kSkipped = 64;
    vain_looks_ = seen ? 0 : vain_looks_ + 1;
    if (vain_looks_ < kVainMax) return;
    vain_looks_ = 0;
    looks_skipped_ = kSkipped;
  }
  std::uint64_t own_bit() const noexcept { return std::uint64_t{1} << local_index_ % 64; }

  Rank& rank_;
  TeamCore& team_;
  const std::uint32_t local_size_;
  const std::uint32_t local_index_;
  const bool of_world_;
  const bool light_;                 // raises, see Flag
  const bool crowded_;               // ranks outnumber cores
  std::uint32_t vain_looks_ = 0;     // since the last that was not
  std::uint32_t looks_skipped_ = 0;  // so many still
  // Of the world, whose parts lie in a row: no lists, which with thousands of ranks in one process (`sim`) would be
  // most of its memory, and all alike.
  const std::uint32_t first_rank_;
  std::byte* const world_parts_;
  const std::uint64_t world_part_bytes_;
  // Of other teams:
  std::vector<std::uint32_t> ranks_;  // by local index
  std::vector<NodeAreaPart*> parts_;  // by local index
  Slab<std::byte> memory_;            // of the own part
  std::uint64_t last_number_ = 0;
  std::uint64_t floor_ = 0;
  std::uint64_t retired_ = 0;                                     // up to here without a gap
  std::uint64_t retired_after_[NodeAreaPart::kRounds / 64] = {};  // a bit for each that is over behind the gap
  Event retired_more_;
  RoundArena arena_;
};

/// One collective of this member. It lives in the collective's frame and takes its number when it is made; its end
/// tells the local members that this member has done with everything of theirs.
///
/// Steps: a member's contribution of a round has a step, which only grows; what it means is the collective's affair.
class [[nodiscard]] Round {
 public:
  explicit Round(NodeArea& node_area) noexcept : Round(node_area, node_area.take_number()) {}
  Round(NodeArea& node_area, std::uint64_t number) noexcept;
  ~Round();
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  NodeArea& node_area() noexcept { return node_area_; }
  std::uint32_t local_size() const noexcept { return node_area_.local_size(); }
  std::uint32_t local_index() const noexcept { return node_area_.local_index(); }

  /// `if (!round.is_open()) co_await round.open();` first of all: waits until no local member is more than kRounds
  /// behind.
  bool is_open() noexcept { return number_ <= node_area_.floor(false) + NodeAreaPart::kRounds; }
  Task<> open();

  // --- this member's word ---
  /// Up to Contribution::kInlineBytesMax bytes, which the contribution carries itself, and its step.
  void contribute(std::span<const std::byte> data, std::uint64_t step) noexcept;
  /// Local members may copy from there, as long as this member says nothing else; NodeArea::can_expose must hold.
  /// `mark`: for the local members, means what the collective wants.
  void expose(const void* address, std::size_t bytes, std::uint64_t step, std::uint32_t mark = 0) noexcept;
  /// Beside what is exposed, a place in the arena, which local members read as long as the round lives. Before the step
  /// that tells of it.
  void expose_results(const std::byte* room) noexcept { own_contribution_.results = room; }
  /// Exposes memory for local members to write into, part by part; how it is cut, all must know. See claim().
  void expose_for_writing(void* address, std::size_t bytes, std::uint64_t step, std::uint32_t mark = 0) noexcept;
  void publish(std::uint64_t step) noexcept;
  /// What is exposed has another address from now on. Then nobody_reads() tells when the old one is free.
  void move_exposed(const void* address) noexcept;
  /// Room in the arena, which lives until every local member is through with this round; null when there is none.
  std::byte* allocate(std::size_t bytes) { return node_area_.allocate(number_, bytes); }
  /// The same; waits until there is room. `bytes` is at most NodeArea::room_bytes_max().
  Task<std::byte*> allocate_when_free(std::size_t bytes);

  // --- the local members' words ---
  bool has_reached(std::uint32_t local_index, std::uint64_t step) noexcept {
    return contribution_of(local_index).flag.reached(value_of(step));
  }
  /// `co_await round.reached(local_index, step);` throws Error (peer_lost) when the team breaks before.
  FlagWait reached(std::uint32_t local_index, std::uint64_t step) {
    Flag& flag = contribution_of(local_index).flag;
    if (!flag.reached(value_of(step))) node_area_.check_whole();
    return wait_for(flag, step, static_cast<int>(node_area_.rank_at(local_index)));
  }
  /// Once has_reached(local_index, 0): how far it has come.
  std::uint64_t step_of(std::uint32_t local_index) noexcept {
    return contribution_of(local_index).flag.value.load(std::memory_order_seq_cst) -
           value_of(0);  // as in Flag::reached
  }
  // Of those who have contributed:
  bool is_exposed(std::uint32_t local_index) noexcept {
    return (contribution_of(local_index).mark.load(std::memory_order_relaxed) & Contribution::kExposed) !=
           0;  // reached() has ordered it
  }
  /// Throws Error (bad_input) when it has not called the same as this member, up to here. Whoever makes use of a local
  /// member's contribution looks first.
  void check(std::uint32_t local_index) {
    const std::uint32_t mark = contribution_of(local_index).mark.load(std::memory_order_relaxed);  // as above
    if (((mark ^ signature_) & Contribution::kSignatureMask) != 0) [[unlikely]]
      throw_misfit(local_index);
  }
  /// The same of all local members, of which some may not have come: for when something went wrong.
  void check_all();
  /// How much a local member has contributed inline, or exposes.
  std::size_t bytes_of(std::uint32_t local_index) noexcept {
    Contribution& contribution = contribution_of(local_index);
    const std::uint32_t mark = contribution.mark.load(std::memory_order_relaxed);  // reached() has ordered both
    return (mark & Contribution::kExposed) == 0 ? mark & Contribution::kMarkMask
                                                : contribution.bytes.load(std::memory_order_relaxed);
  }
  /// What a local member has contributed inline (not is_exposed()).
  std::span<const std::byte> inline_data(std::uint32_t local_index) noexcept {
    return {contribution_of(local_index).inline_data(), bytes_of(local_index)};
  }
  struct ExposedBuffer {
    const std::byte* address;  ///< Null: no longer exposed.
    std::uint64_t bytes;
    std::uint32_t mark;
  };
  /// Of one who is_exposed().
  ExposedBuffer exposed(std::uint32_t local_index) noexcept;
  /// What a local member has contributed inline, or exposed out of its arena: both stay to the end of this round.
  std::span<const std::byte> contributed(std::uint32_t local_index) noexcept;
  /// Whether a memcpy does what copy_own() does, or copy() from what is contributed: not in `sim`.
  bool copies_at_once() const noexcept;
  /// Copies out of what a local member exposes, which it has contributed. False when it exposes no longer. In `sim` it
  /// takes time.
  Task<bool> copy(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target,
                  Copying how = Copying::by_caches);
  /// The same out of what it has said by expose_results(), beside what it exposes.
  Task<bool> copy_results(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target);
  /// Copies within this member's memory, as a memcpy would; in `sim` that takes time, too.
  Task<> copy_own(std::span<const std::byte> source, std::byte* target);
  /// For who reads exposed memory in place: true when it is still exposed; until end_reading() it stays.
  const std::byte* begin_reading(std::uint32_t local_index) noexcept;
  void end_reading() noexcept {
    own_contribution_.reading.store(0, std::memory_order_release);
  }  // pairs with nobody_reads()

  // --- copied by both sides ---
  /// Takes one more part of what a local member, or this member, has exposed for writing: its number, beyond the last
  /// one when none is left. Between begin_reading() and end_reading(), then a local member that fails can tell when
  /// nobody writes any more.
  std::uint32_t claim(std::uint32_t local_index) noexcept {
    return contribution_of(local_index)
        .claimed.fetch_add(1, std::memory_order_relaxed);  // what is copied, flags have ordered
  }
  /// This member has written a part that it has claimed of a local member.
  void written(std::uint32_t local_index) noexcept {
    contribution_of(local_index).written.fetch_add(1, std::memory_order_release);  // pairs with written_by_others()
  }
  /// Until local members have written so many parts of what this member has exposed. Throws Error (peer_lost) when the
  /// team breaks.
  Task<> written_by_others(std::uint32_t parts);

  // --- decided together ---
  /// Order of arrival at this node: 0, 1, ... Once per member. The last one's number is local_size() - 1. Throws Error
  /// (bad_input) when this member has not called the same as the first who came.
  std::uint32_t arrive();
  /// Whether the one who has come as which has also said who he is.
  bool has_arrived(std::uint32_t order) noexcept;
  /// `if (!round.has_arrived(order)) co_await round.arrival(order);` waits for the moment between his coming and his
  /// saying so. Throws Error (peer_lost) when the team breaks: he may have died in between.
  Task<> arrival(std::uint32_t order);
  /// The local index of who has_arrived() as which.
  std::uint32_t arrived_as(std::uint32_t order) noexcept;
  std::uint32_t arrivals() noexcept;
  /// The local index of who leads here: the first who asks.
  std::uint32_t elect() noexcept;
  /// A flag that all share.
  void decide(std::uint64_t step) noexcept;
  FlagWait decided(std::uint64_t step) {
    if (!control_.decision.reached(value_of(step))) node_area_.check_whole();
    return wait_for(control_.decision, step, -1);
  }
  std::uint64_t decision() noexcept { return control_.decision.value.load(std::memory_order_seq_cst) - value_of(0); }

  bool has_decided(std::uint64_t step) noexcept { return control_.decision.reached(value_of(step)); }
  /// Where ranks outnumber cores and only one local member is missing, that one may be about to come on another core:
  /// looks for it for less time than leaving the core to others and coming back would take, unless that was in vain
  /// lately.
  template <class Come>
  void spin_for_last(const Come& come) noexcept {
    constexpr int kLooks = 30;
    if (!node_area_.may_look()) return;
    int look = 0;
    for (; look < kLooks && !come(); ++look) rest_shortly();
    node_area_.looked(look < kLooks);
  }

  // --- its end ---
  /// Returns when no living local member copies from what this member has exposed, which must no longer be exposed
  /// there.
  Task<> nobody_reads();
  /// For when a collective fails: nothing is exposed any more, and nobody reads. Never throws.
  Task<> withdraw();

 private:
  FlagWait wait_for(Flag& flag, std::uint64_t step, int peer) noexcept;
  std::uint64_t value_of(std::uint64_t step) const noexcept { return number_ << NodeAreaPart::kStepBits | step; }
  Contribution& contribution_of(std::uint32_t local_index) noexcept {
    return node_area_.part(local_index).contributions[number_ % NodeAreaPart::kRounds];
  }
  bool anybody_reads() noexcept;
  [[noreturn]] void throw_misfit(std::uint32_t local_index);
  void compare_called(std::uint64_t there);
  enum class Source { exposed, results };
  Task<bool> copy_from(std::uint32_t local_index, Source which, std::size_t offset, std::span<std::byte> target,
                       Copying how);
  Task<> copy_in_time(std::uint32_t local_index, const std::byte* source, std::span<std::byte> target);
  static void rest_shortly() noexcept;

  NodeArea& node_area_;
  const std::uint64_t number_;
  const std::uint32_t signature_;  // as in a contribution's mark
  bool is_marked_ = false;         // the own contribution's mark is of this round
  Contribution& own_contribution_;
  RoundControl& control_;
};

}  // namespace coracle::internals
