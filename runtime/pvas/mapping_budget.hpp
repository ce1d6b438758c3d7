// vm.max_map_count bounds the mappings of one address space, and so of all its tasks together. Beyond it mmap fails at
// random places inside tasks; this refuses the task that would not fit, before it starts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace coracle::internals::pvas {

/// What vm.max_map_count allows.
std::size_t mapping_limit();

/// Mappings of the calling process, by reading /proc/self/maps: some 0.5 µs each.
std::size_t count_mappings();

/// Counts only where those tasks that were not in the last count might fill the limit, so that a spawn costs little on
/// average. What a task needs is a guess until eight are known, then their mean.
class MappingBudget {
 public:
  /// The guess: what a C++ program of a handful of libraries needs.
  static constexpr std::size_t kPerTask = 40;
  /// A task may need so much while nothing is known; then four times the mean.
  static constexpr std::size_t kPerTaskMost = 1000;

  /// `limit` 0: the kernel's vm.max_map_count.
  explicit MappingBudget(std::size_t limit);

  /// Before a task is spawned beside `tasks`. `starting` tells how many of them have not mapped all their libraries as
  /// far as is known; where those might fill the limit, they are waited for as long as they go on mapping. Throws Error
  /// naming `program`, the limit and the remedy.
  void admit(const std::string& program, std::size_t tasks, const std::function<std::size_t()>& starting);

 private:
  bool fits(std::size_t per_task) const noexcept;
  void count(std::size_t tasks, std::size_t starting);
  void wait_for_starting(std::size_t tasks, const std::function<std::size_t()>& starting);

  std::size_t fixed_limit_;
  std::size_t limit_;
  std::size_t without_tasks_;  ///< Mappings of the root itself, and what ended tasks have left behind.
  std::size_t counted_;        ///< Mappings, the last time.
  std::size_t starting_ = 0;   ///< Tasks that may not have been in counted_ with all their mappings.
  std::size_t silent_ = 0;     ///< Tasks that are said to start and map no more: their libc never tells, or they died.
  std::size_t uncounted_ = 0;  ///< Tasks since.
  std::size_t per_task_ = kPerTask;
  std::size_t per_task_most_ = kPerTaskMost;
};

}  // namespace coracle::internals::pvas
