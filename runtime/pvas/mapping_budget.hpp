// vm.max_map_count bounds the mappings of one address space, and so of all its tasks together. Beyond it mmap fails at
// random places inside tasks; this refuses the task that would not fit, before it starts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace coracle::internals::pvas {

/// Mappings of the calling process, by reading /proc/self/maps: some 0.5 µs each.
std::size_t count_mappings();

/// Keeps an estimate and counts anew when the tasks have doubled or it says "full", so that a spawn costs O(1) on
/// average. What a task needs is a guess until eight have come, then what the last ones have mapped.
class MappingBudget {
 public:
  /// The guess, and the least: what a C++ program of a handful of libraries needs.
  static constexpr std::size_t kPerTask = 40;

  /// `limit` 0: the kernel's vm.max_map_count.
  explicit MappingBudget(std::size_t limit);

  /// Before a task is spawned beside `tasks`. `starting` tells how many of them have not mapped all their libraries
  /// yet. Throws Error naming `program`, the limit and the remedy.
  void admit(const std::string& program, std::size_t tasks, const std::function<std::size_t()>& starting);

  /// Tasks since the mappings were last counted.
  std::size_t uncounted() const noexcept { return uncounted_; }

 private:
  bool fits() const noexcept;
  void count(std::size_t tasks, std::size_t starting);

  std::size_t fixed_limit_;
  std::size_t limit_;
  std::size_t counted_;            ///< Mappings, the last time.
  std::size_t counted_tasks_ = 0;  ///< Tasks then.
  std::size_t starting_ = 0;       ///< Of those, the ones that may not have been in counted_ with all their mappings.
  std::size_t uncounted_ = 0;
  std::size_t per_task_ = kPerTask;
};

}  // namespace coracle::internals::pvas
