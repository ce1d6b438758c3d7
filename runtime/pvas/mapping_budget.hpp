// vm.max_map_count bounds the mappings of one address space, and so of all its tasks together. Beyond it mmap fails at
// random places inside tasks; this refuses the task that would not fit, before it starts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace coracle::internals::pvas {

/// Mappings of the calling process, by reading /proc/self/maps: some 0.5 µs each.
std::size_t count_mappings();

/// Keeps an upper estimate and counts anew only when that says "full", so that a spawn costs O(1) on average.
class MappingBudget {
 public:
  /// What a C++ program of a handful of libraries needs.
  static constexpr std::size_t kPerTask = 40;

  /// `limit` 0: the kernel's vm.max_map_count.
  explicit MappingBudget(std::size_t limit);

  /// Before a task is spawned. `starting` tells how many tasks have not mapped all their libraries yet. Throws Error
  /// naming `program`, the limit and the remedy.
  void admit(const std::string& program, const std::function<std::size_t()>& starting);

 private:
  bool fits() const noexcept;

  std::size_t fixed_limit_;
  std::size_t limit_;
  std::size_t counted_;
  std::size_t expected_ = 0;  ///< Tasks that may not be in counted_ with all their mappings.
};

}  // namespace coracle::internals::pvas
