// Collectives for interfaces of functions, whose callers are no coroutines. Short ones on one node mostly end in the
// call itself, without a coroutine; of the rest the caller runs the task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>
#include <utility>

#include "collectives/data/blocks.hpp"
#include "collectives/data/reduction.hpp"
#include "collectives/parts/member_blocks.hpp"
#include "runtime/core/task.hpp"
#include "runtime/team/team.hpp"

namespace coracle::internals {

/// What the caller does with a task: it returns when that has ended, turning the rank's loop until then; throws its
/// error. Or it keeps the task, which has not begun, for later.
class RunTask {
 public:
  using Function = void (*)(const void* context, Task<> task);
  /// `context`, which is the caller's, outlives this.
  RunTask(Function function, const void* context) noexcept : function_(function), context_(context) {}
  static RunTask keeping(std::optional<Task<>>& kept) noexcept {
    const auto keep = [](const void* place, Task<> task) {
      static_cast<std::optional<Task<>>*>(const_cast<void*>(place))->emplace(std::move(task));
    };
    RunTask keeper(keep, &kept);
    keeper.keeps_ = true;
    return keeper;
  }
  /// Then it gets all of a collective, else the rest of one that has begun.
  bool keeps() const noexcept { return keeps_; }
  void operator()(Task<> task) const { function_(context_, std::move(task)); }

 private:
  Function function_;
  const void* context_;
  bool keeps_ = false;
};

// Each is a collective as the one of Team, or of bytes, whose name it has; what that throws, these throw. They return
// when it has ended for this member. `run` is called at most once.

void barrier_blocking(Team& team, std::source_location where, RunTask run);
void broadcast_blocking(Team& team, std::span<std::byte> data, std::uint32_t root, std::source_location where,
                        RunTask run);
void all_reduce_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                         Reduction reduction, std::source_location where, RunTask run);
void reduce_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                     std::uint32_t root, std::source_location where, RunTask run);
void reduce_scatter_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> mine,
                             const Blocks& blocks, Reduction reduction, std::source_location where, RunTask run);
void scan_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> result, Reduction reduction,
                   std::source_location where, RunTask run);
/// Without an element that comes first.
void exclusive_scan_blocking(Team& team, std::span<const std::byte> values, std::span<std::byte> result,
                             Reduction reduction, std::source_location where, RunTask run);
/// A block as long as the others for each member; see exchanges_at_once().
void all_to_all_blocking(Team& team, std::span<const std::byte> source, std::span<std::byte> target,
                         std::source_location where, RunTask run);
/// `all`: as many blocks as long as `mine`; that may be this member's own one.
void gather_all_blocking(Team& team, std::span<const std::byte> mine, std::span<std::byte> all,
                         std::source_location where, RunTask run);

// False where it does not go so: blocks are long, or there are several nodes. Then nothing has begun, and the caller
// takes the other way; other members may have come on this one. What a `run` that keeps the task is given refers to all
// that they are given by reference, and to buffers.

bool all_to_all_parts_short(Team& team, const SourceBlocks& sources, const TargetBlocks& targets,
                            std::source_location where, RunTask run);
bool gather_all_parts_short(Team& team, std::span<const std::byte> mine, const TargetBlocks& all,
                            std::source_location where, RunTask run);
/// `all`: of the root alone.
bool gather_short(Team& team, std::span<const std::byte> mine, std::span<std::byte> all, std::uint32_t root,
                  std::source_location where, RunTask run);
bool gather_parts_short(Team& team, std::span<const std::byte> mine, const TargetBlocks& all, std::uint32_t root,
                        std::source_location where, RunTask run);
bool scatter_short(Team& team, std::span<const std::byte> all, std::span<std::byte> mine, std::uint32_t root,
                   std::source_location where, RunTask run);
bool scatter_parts_short(Team& team, const SourceBlocks& parts, std::span<std::byte> mine, std::uint32_t root,
                         std::source_location where, RunTask run);

}  // namespace coracle::internals
