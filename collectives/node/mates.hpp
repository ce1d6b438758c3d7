// Mates: one member's part of a collective among the members of a team on one node: what it gives them and takes from
// them by way of the board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/data/scratch.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/round.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Takes its number when it is made, so it is made where the collective starts. Lives in the collective's frame.
class Mates {
 public:
  explicit Mates(Team& team) noexcept : team_(team), round_(team.board()) {}

  // The same at every member:
  /// Data up to this size is left in the arena, so that its giver need not wait until all have it.
  static std::size_t given_bytes_max(Team& team) noexcept;
  /// Whether longer data can be lent where it lies.
  static bool can_lend(const Team& team) noexcept;
  /// Whether all of a team on one node give their `bytes` and look at what all others have given: one step, after which
  /// nobody waits for anybody, without coroutines of its own where it can. The quickest way among few.
  /// `mates_max`: more would read too many cache lines each.
  static bool can_exchange(Team& team, std::size_t bytes, std::uint32_t mates_max) noexcept;

  std::size_t given_bytes_max() const noexcept { return given_bytes_max(team_); }
  Round& round() noexcept { return round_; }
  std::uint32_t count() const noexcept { return round_.mates(); }
  std::uint32_t place() const noexcept { return round_.place(); }

  /// Memory that lives as long as this: what a part lends must outlast the part's failure.
  std::span<std::byte> keep(std::size_t bytes) { return kept_.emplace_back(bytes).span(); }

  /// Runs the collective's part of this member. When it fails, the mates that wait for this one are told, and nobody
  /// reads any more what it lends when the error is rethrown.
  Task<> run(Task<> part);

  // --- this member's word ---
  /// Posts a copy of `data`, at most given_bytes_max(): stage 1. `if (!mates.try_give(data)) co_await
  /// mates.give(data);` needs no coroutine where nothing has to be waited for.
  bool try_give(std::span<const std::byte> data);
  Task<> give(std::span<const std::byte> data);
  /// What is lent may change only when all who copy from it have said so.
  void lend(std::span<const std::byte> data, std::uint64_t stage) noexcept;
  /// Gives what is small, else lends it: stage 1.
  Task<> provide(std::span<const std::byte> data, bool small);
  /// Says that this member has come so far, and waits until all have.
  Task<> meet(std::uint64_t stage);

  // --- the mates' words ---
  /// What it has given, to look at; throws Error (bad_input) if that is not `bytes`.
  const std::byte* data_of(std::uint32_t place, std::size_t bytes);
  /// Until a mate's post has this stage, or all have. Throws Error (bad_input) when it has failed.
  Task<> wait(std::uint32_t place, std::uint64_t stage);
  Task<> wait_for_all(std::uint64_t stage);
  /// Until somebody has decided; gives what.
  Task<std::uint64_t> decision();
  /// Throws Error (bad_input) if a mate, or any of them, has given or lends another number of bytes.
  void check_bytes(std::uint32_t place, std::size_t bytes);
  void check_all_bytes(std::size_t bytes);
  /// For who finds that a mate lends no longer: it has failed, and this throws why.
  Task<> fail_with(std::uint32_t place) { return wait(place, kFailed); }

  // --- data ---
  /// Copies out of what a mate has given or lends.
  Task<> take(std::uint32_t place, std::size_t offset, std::span<std::byte> target, Copying how = Copying::by_caches);
  /// `if (!mates.try_take(mate, target)) co_await mates.take(mate, 0, target);` takes all that it has given, without a
  /// coroutine where copies take no virtual time. Throws Error (bad_input) where that is not as long.
  bool try_take(std::uint32_t place, std::span<std::byte> target);
  /// Copies out of the results that a mate lends beside its data (Round::lend_results).
  Task<> take_result(std::uint32_t place, std::size_t offset, std::span<std::byte> target);
  /// Takes all of what each mate has provided into `target_of(mate)`.
  template <class TargetOf>
  Task<> take_all(TargetOf target_of) {
    for (std::uint32_t step = 1; step < count(); ++step) {
      const std::uint32_t mate = (place() + step) % count();
      co_await wait(mate, 1);
      const std::span<std::byte> target = target_of(mate);
      check_bytes(mate, target.size());
      co_await take(mate, 0, target);
    }
  }
  /// The leader's part of a scatter: its mates fetch() from `data`. `stage`: greater than any of all before; 1 if
  /// `data` is small, which it gives. Else it returns when all have theirs.
  Task<> hand_out(std::span<const std::byte> data, std::uint64_t stage, bool small = false);
  /// A mate's part, of the `whole_bytes` that the leader has.
  Task<> fetch(std::uint32_t leader, std::size_t whole_bytes, std::size_t offset, std::span<std::byte> target,
               std::uint64_t stage, bool small = false);

 private:
  static constexpr std::uint64_t kFailed = std::uint64_t{1} << (BoardPart::kStageBits - 1);

  void check_alive(std::uint64_t stage, int place);
  void check(std::uint32_t place);

  Team& team_;
  Round round_;
  std::vector<Scratch> kept_;
};

}  // namespace coracle::internals
