// Whether all ranks of a job fit into one address space, which may have only vm.max_map_count mappings. The address
// space itself refuses the task that would not fit (pvas/mapping_budget.hpp), but guesses what one needs; here the
// first rank is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/core/task.hpp"

namespace coracle::internals {

class MappingCheck {
 public:
  /// Counts what is mapped before the first rank starts.
  MappingCheck();

  /// True when a job of `ranks` is so small that it need not be checked.
  bool surely_fits(std::uint32_t ranks) const noexcept;

  /// Watches the first rank map its program and libraries, until `is_up` or nothing more has come for a while, at most
  /// a second.
  Task<> watch_first(std::function<bool()> is_up);
  /// Throws Error, with the remedy, if `ranks` of the kind that has been watched don't fit. Those of none do.
  void refuse(std::uint32_t ranks) const;

 private:
  std::size_t limit_;
  std::size_t before_;
  std::size_t most_;  // so far
};

}  // namespace coracle::internals
