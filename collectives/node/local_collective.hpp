// LocalCollective: one member's part of a collective among the members of a team on one node: what it gives them and
// takes from them by way of the node area.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "collectives/data/blocks.hpp"
#include "collectives/data/reduction.hpp"
#include "collectives/data/scratch.hpp"
#include "runtime/core/task.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/round.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Takes its number when it is made, so it is made where the collective starts. Lives in the collective's frame.
class LocalCollective {
 public:
  explicit LocalCollective(Team& team) noexcept : team_(team), round_(team.node_area()) {}

  std::size_t given_bytes_max() const noexcept;  ///< As within::given_bytes_max().
  Round& round() noexcept { return round_; }
  std::uint32_t count() const noexcept { return round_.local_size(); }
  std::uint32_t local_index() const noexcept { return round_.local_index(); }

  /// Memory that lives as long as this: what a part exposes must outlast the part's failure.
  std::span<std::byte> keep(std::size_t bytes) { return kept_.emplace_back(bytes).span(); }

  /// Runs the collective's part of this member. When it fails, the local members that wait for this one are told, and
  /// nobody reads any more what it exposes when the error is rethrown.
  Task<> run(Task<> part);

  // --- this member's word ---
  /// Contributes a copy of `data`, at most NodeArea::room_bytes_max(): step 1. `if (!local.try_give(data)) co_await
  /// local.give(data);` needs no coroutine where nothing has to be waited for.
  bool try_give(std::span<const std::byte> data) {
    if (data.size() > Contribution::kInlineBytesMax) return try_give_by_arena(data);
    if (!round_.is_open()) return false;
    round_.contribute(data, 1);
    return true;
  }
  Task<> give(std::span<const std::byte> data);
  /// The same of `bytes` that `make(room)` writes where they are given; not in `sim`, where copies take time.
  template <class Make>
  bool try_give_made(std::size_t bytes, const Make& make) {
    if (!round_.is_open()) return false;
    if (bytes <= Contribution::kInlineBytesMax) {
      round_.contribute_made(bytes, 1, make);
      return true;
    }
    return give_made_in(room_to_give(bytes), bytes, make);
  }
  /// Gives a copy in a room that this member has from the other one of two (Round::hand): step 1. False where it has
  /// none: the caller goes another way.
  bool try_hand(std::span<const std::byte> data) {
    return try_hand_made(data.size(), [&](std::byte* room) { std::memcpy(room, data.data(), data.size()); });
  }
  template <class Make>
  bool try_hand_made(std::size_t bytes, const Make& make) {
    return round_.is_open() && give_made_in(round_.hand(bytes), bytes, make);
  }
  template <class Make>
  Task<> give_made(std::size_t bytes, Make make) {
    if (try_give_made(bytes, make)) co_return;
    give_made_in(co_await round_.allocate_when_free(bytes), bytes, make);
  }
  /// What is exposed may change only when all who copy from it have said so.
  void expose(std::span<const std::byte> data, std::uint64_t step) noexcept;
  /// Gives what is small, else exposes it: step 1. `if (!local.try_provide(data, small)) co_await local.give(data);`
  bool try_provide(std::span<const std::byte> data, bool small);
  /// Says that this member has come so far, and waits until all have.
  Task<> meet(std::uint64_t step);

  // --- the local members' words ---
  /// What it has given, to look at; throws Error (bad_input) if that is not `bytes`.
  const std::byte* data_of(std::uint32_t local_index, std::size_t bytes) {
    round_.check(local_index);
    const std::span<const std::byte> data = round_.contributed(local_index);
    if (data.size() != bytes) [[unlikely]]
      check_bytes(local_index, bytes);
    return data.data();
  }
  /// After one's own contribution: where ranks share cores it looks a little longer for step 1 of the last who is
  /// missing (Round::spin_for_last).
  void spin_for_last() noexcept {
    if (round_.is_crowded()) look_for_last();
  }
  /// Until a local member's contribution has this step, or all have. Throws Error (bad_input) when it has failed.
  Task<> wait(std::uint32_t local_index, std::uint64_t step);
  Task<> wait_for_all(std::uint64_t step);
  /// Of who has contributed: whether it has failed, maybe before it has given anything.
  bool has_failed(std::uint32_t local_index) noexcept { return round_.step_of(local_index) >= kFailed; }
  /// Until somebody has decided; gives what.
  Task<std::uint64_t> decision();
  /// Throws Error (bad_input) if a local member, or any of them, has given or exposes another number of bytes.
  void check_bytes(std::uint32_t local_index, std::size_t bytes);
  void check_all_bytes(std::size_t bytes);
  /// For who finds that a local member exposes no longer: it has failed, and this throws why.
  Task<> fail_with(std::uint32_t local_index) { return wait(local_index, kFailed); }

  // --- data ---
  /// Copies out of what a local member has given or exposes.
  Task<> take(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target,
              Copying how = Copying::by_caches);
  /// `if (!local.try_take(leader, target)) co_await local.take(leader, 0, target);` takes all that it has given,
  /// without a coroutine where copies take no virtual time. Throws Error (bad_input) where that is not as long.
  bool try_take(std::uint32_t local_index, std::span<std::byte> target);
  /// Copies out of the results that a local member exposes beside its data (Round::expose_results).
  Task<> take_result(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target);

 private:
  static constexpr std::uint64_t kFailed = std::uint64_t{1} << (NodeAreaPart::kStepBits - 1);

  bool try_give_by_arena(std::span<const std::byte> data);
  std::byte* room_to_give(std::size_t bytes) {
    std::byte* const room = round_.hand(bytes);
    return room != nullptr ? room : round_.allocate(bytes);
  }
  template <class Make>
  bool give_made_in(std::byte* room, std::size_t bytes, const Make& make) {
    if (room == nullptr) return false;
    make(room);
    expose({room, bytes}, 1);
    return true;
  }
  void look_for_last() noexcept;
  void check_alive(std::uint64_t step, int local_index);
  void check(std::uint32_t local_index);

  Team& team_;
  Round round_;
  std::vector<Scratch> kept_;
};

}  // namespace coracle::internals

namespace coracle::internals::within {

// --- ways among the members of a team on one node ---

// The first six are the same at every member.

/// Data up to this size is left in the arena, so that its giver need not wait until all have it.
std::size_t given_bytes_max(Team& team) noexcept;
/// Of two members, each with a core: data up to this size that both give each other goes by rooms that they hand to and
/// fro (HandedRooms), and what one gives if it has one. 0: there are none.
std::size_t handed_bytes_max(Team& team) noexcept;
/// Whether `bytes` go so, of which each member gives at most as many.
bool hands(Team& team, std::size_t bytes) noexcept;
/// Whether longer data can be exposed where it lies: others copy it, by the kernel where they don't reach it.
bool can_expose(const Team& team) noexcept;
/// Whether local members reach each other's memory by load and store.
bool reaches(const Team& team) noexcept;
/// Whether all of a team on one node give their `bytes` and look at what all others have given: one step, after which
/// nobody waits for anybody, without coroutines of its own where it can. The quickest way among few.
/// `local_size_max`: more would read too many cache lines each. `bytes_max`: where each rank has a core, to look at
/// more takes longer than to wait until others have.
bool can_exchange(Team& team, std::size_t bytes, std::uint32_t local_size_max, std::size_t bytes_max = 4096) noexcept;

/// How to copy where each local member reads and writes so many bytes: all together, they would drive themselves out
/// of the cache that they share.
Copying copying_of(const LocalCollective& local, std::size_t bytes_of_each);

/// Takes all of what each local member has provided into `target_of(other)`.
template <class TargetOf>
Task<> take_all(LocalCollective& local, TargetOf target_of) {
  for (std::uint32_t distance = 1; distance < local.count(); ++distance) {
    const std::uint32_t other = (local.local_index() + distance) % local.count();
    co_await local.wait(other, 1);
    const std::span<std::byte> target = target_of(other);
    local.check_bytes(other, target.size());
    co_await local.take(other, 0, target);
  }
}
/// The other local members fetch() from `data`. `step`: greater than any of all before; 1 if `data` is small, which it
/// gives. Else it returns when all have theirs.
Task<> hand_out(LocalCollective& local, std::span<const std::byte> data, std::uint64_t step, bool small = false);
/// A local member's part, of the `whole_bytes` that the leader has.
Task<> fetch(LocalCollective& local, std::uint32_t leader, std::size_t whole_bytes, std::size_t offset,
             std::span<std::byte> target, std::uint64_t step, bool small = false);

/// Who copies what is exposed: a local member, or kAll others; each says by step 1 that it has it.
struct Readers {
  static constexpr std::uint32_t kAll = 0xffffffff;
  std::uint32_t who = kAll;
  bool have_it(LocalCollective& local) const noexcept;
  Task<> wait(LocalCollective& local) const;
};
/// Of who exposes `data`: returns when it may be reused. Where readers are late a copy is left in the arena instead, if
/// `data` is not long and there is room.
Task<> leave_for(Team& team, LocalCollective& local, Readers readers, std::span<const std::byte> data);

// --- reductions among the members of a team on one node ---

/// result[i] = theirs[i] op own[i], or the other way where the local member comes after this member; `theirs` at
/// `offset` of what it has given or exposes.
Task<> combine(LocalCollective& local, std::uint32_t other, std::size_t offset, std::span<const std::byte> own,
               std::byte* result, const Reduction& reduction);
/// `result`: all local members' data at `offset`, combined in their order, of which `own` is this one's.
Task<> combine_all(LocalCollective& local, std::size_t offset, std::span<const std::byte> own, std::byte* result,
                   const Reduction& reduction);
/// The same of all that they have given, from the first to the last whoever does it: sums of floating-point numbers are
/// the same whoever comes last. `result` may be `own`.
Task<> combine_in_order(LocalCollective& local, std::span<const std::byte> own, std::span<std::byte> result,
                        const Reduction& reduction);

/// Small data (see given_bytes_max()): `local` give it, and go on. At `root` (a local index): all of it
/// combined in `result`, which may be `values`.
Task<> reduce_small(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                    std::uint32_t root, const Reduction& reduction);

/// Whether local members reach each other's values, and two results of one element fit into the arena: the same at all
/// members.
bool suits_reduce_large(Team& team, const Reduction& reduction) noexcept;

/// Which local members have a result.
enum class Takers : bool { all, one };

/// Large data (see suits_reduce_large), exposed where it lies: each local member combines its slice of all, and those
/// with a `result` (which may be `values`; else empty) copy all slices. Returns when `values` may be reused; local
/// members stand at the step that it gives.
Task<std::uint64_t> reduce_large(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                                 Takers takers, const Reduction& reduction);

/// Whether all of a team on one node, which don't reach each other's values (`process`), have room for pieces of them
/// in their arenas: the same at all members.
bool suits_reduce_staged(Team& team, const Reduction& reduction) noexcept;

/// As reduce_large(), but each local member copies its values, piece by piece, to where the others reach them.
Task<> reduce_staged(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> result,
                     Takers takers, const Reduction& reduction);

/// The same of a reduce_scatter: of `values`, which is a block for each local member, in a row, each combines its own
/// one into `mine`, which is apart. On the team's only node.
bool suits_reduce_scatter_staged(Team& team, const Blocks& blocks, const Reduction& reduction) noexcept;
Task<> reduce_scatter_staged(LocalCollective& local, std::span<const std::byte> values, std::span<std::byte> mine,
                             const Blocks& blocks, const Reduction& reduction);

}  // namespace coracle::internals::within
