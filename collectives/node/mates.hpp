// Mates: one member's part of a collective among the members of a team on one node: what it gives them and takes from
// them by way of the board.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/data/reduction.hpp"
#include "collectives/data/scratch.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/board.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Takes its number when it is made, so it is made where the collective starts. Lives in the collective's frame.
class Mates {
 public:
  explicit Mates(Team& team) noexcept : team_(team), round_(team.board()) {}

  /// Data up to this size is left in the arena, so that its giver need not wait until all have it. The same everywhere.
  static std::size_t given_bytes_max(Team& team) noexcept;
  /// Whether longer data can be lent where it lies.
  static bool can_lend(const Team& team) noexcept;

  std::size_t given_bytes_max() const noexcept { return given_bytes_max(team_); }
  Round& round() noexcept { return round_; }
  std::uint32_t count() const noexcept { return round_.mates(); }
  std::uint32_t place() const noexcept { return round_.place(); }

  /// Memory that lives as long as this: what a part lends must outlast the part's failure.
  std::span<std::byte> keep(std::size_t bytes) { return kept_.emplace_back(bytes).span(); }

  /// Runs the collective's part of this member. When it fails, the mates that wait for this one are told, and nobody
  /// reads any more what it lends when the error is rethrown.
  Task<> run(Task<> part);

  /// For parts that are not run(): tells the mates that wait for this member that it has failed.
  void fail() noexcept;

  /// Posts a copy of `data`, at most given_bytes_max(): stage 1. Gives the copy's place, null when it is in the post.
  Task<std::byte*> give(std::span<const std::byte> data);
  /// What is lent may change only when all who copy from it have said so.
  void lend(std::span<const std::byte> data, std::uint64_t stage) noexcept;

  /// Until a mate's post has this stage, or all have. Throws Error (bad_input) when it has failed.
  Task<> wait(std::uint32_t place, std::uint64_t stage);
  Task<> wait_for_all(std::uint64_t stage);
  /// Until somebody has decided; gives what.
  Task<std::uint64_t> decision();

  /// How much a mate has given or lends.
  std::size_t bytes_of(std::uint32_t place) noexcept { return round_.bytes_of(place); }
  /// Throws Error (bad_input) if that is not `bytes`.
  void check_bytes(std::uint32_t place, std::size_t bytes);
  /// What a mate lends, which stays there until Round::end_reading().
  Task<const std::byte*> begin_reading(std::uint32_t place);
  /// Copies out of what a mate has given or lends.
  Task<> take(std::uint32_t place, std::size_t offset, std::span<std::byte> target, Copying how = Copying::by_caches);
  /// Copies out of the results that a mate lends beside its data (Round::lend_results).
  Task<> take_result(std::uint32_t place, std::size_t offset, std::span<std::byte> target);
  /// result[i] = theirs[i] op own[i], or the other way where the mate comes after this member; `theirs` at `offset` of
  /// what it has given or lends.
  Task<> combine(std::uint32_t place, std::size_t offset, std::span<const std::byte> own, std::byte* result,
                 const Reduction& reduction);
  /// `result`: all mates' data at `offset`, combined in their order, of which `own` is this one's.
  Task<> combine_all(std::size_t offset, std::span<const std::byte> own, std::byte* result, const Reduction& reduction);

 private:
  void check_alive(std::uint64_t stage, const char* who);

  Team& team_;
  Round round_;
  std::vector<Scratch> kept_;
};

}  // namespace coracle::internals
