// LocalCollective: one member's part of a collective among the members of a team on one node: what it gives them and
// takes from them by way of the node area.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/data/reduction.hpp"
#include "collectives/data/scratch.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/team/node_area.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// Takes its number when it is made, so it is made where the collective starts. Lives in the collective's frame.
class LocalCollective {
 public:
  explicit LocalCollective(Team& team) noexcept : team_(team), round_(team.node_area()) {}

  /// Data up to this size is left in the arena, so that its giver need not wait until all have it. The same everywhere.
  static std::size_t given_bytes_max(Team& team) noexcept;
  /// Whether longer data can be exposed where it lies.
  static bool can_expose(const Team& team) noexcept;

  std::size_t given_bytes_max() const noexcept { return given_bytes_max(team_); }
  Round& round() noexcept { return round_; }
  std::uint32_t count() const noexcept { return round_.local_size(); }
  std::uint32_t local_index() const noexcept { return round_.local_index(); }

  /// Memory that lives as long as this: what a part exposes must outlast the part's failure.
  std::span<std::byte> keep(std::size_t bytes) { return kept_.emplace_back(bytes).span(); }

  /// Runs the collective's part of this member. When it fails, the local members that wait for this one are told, and
  /// nobody reads any more what it exposes when the error is rethrown.
  Task<> run(Task<> part);

  /// For parts that are not run(): tells the local members that wait for this member that it has failed.
  void fail() noexcept;

  /// Contributes a copy of `data`, at most given_bytes_max(): step 1. Gives the copy's place, null when it is in the
  /// contribution.
  Task<std::byte*> give(std::span<const std::byte> data);
  /// What is exposed may change only when all who copy from it have said so.
  void expose(std::span<const std::byte> data, std::uint64_t step) noexcept;

  /// Until a local member's contribution has this step, or all have. Throws Error (bad_input) when it has failed.
  Task<> wait(std::uint32_t local_index, std::uint64_t step);
  Task<> wait_for_all(std::uint64_t step);
  /// Until somebody has decided; gives what.
  Task<std::uint64_t> decision();

  /// How much a local member has given or exposes.
  std::size_t bytes_of(std::uint32_t local_index) noexcept { return round_.bytes_of(local_index); }
  /// Throws Error (bad_input) if that is not `bytes`.
  void check_bytes(std::uint32_t local_index, std::size_t bytes);
  /// What a local member exposes, which stays there until Round::end_reading().
  Task<const std::byte*> begin_reading(std::uint32_t local_index);
  /// Copies out of what a local member has given or exposes.
  Task<> take(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target,
              Copying how = Copying::by_caches);
  /// Copies out of the results that a local member exposes beside its data (Round::expose_results).
  Task<> take_result(std::uint32_t local_index, std::size_t offset, std::span<std::byte> target);
  /// result[i] = theirs[i] op own[i], or the other way where the local member comes after this member; `theirs` at
  /// `offset` of what it has given or exposes.
  Task<> combine(std::uint32_t local_index, std::size_t offset, std::span<const std::byte> own, std::byte* result,
                 const Reduction& reduction);
  /// `result`: all local members' data at `offset`, combined in their order, of which `own` is this one's.
  Task<> combine_all(std::size_t offset, std::span<const std::byte> own, std::byte* result, const Reduction& reduction);

 private:
  void check_alive(std::uint64_t step, const char* who);

  Team& team_;
  Round round_;
  std::vector<Scratch> kept_;
};

}  // namespace coracle::internals
