// Whether all ranks of a job fit into one address space, which may have only vm.max_map_count mappings. The address
// space itself refuses the task that would not fit (pvas/mapping_budget.hpp), when hundreds run already; here the first
// rank is measured before the second starts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/launch/processes.hpp"

namespace coracle::internals {

class MappingCheck {
 public:
  /// `limit`: of mappings of this process; `before`: what is mapped before the first rank starts.
  MappingCheck(std::size_t limit, std::size_t before) noexcept : limit_(limit), before_(before), most_(before) {}
  /// Of this process, as it is now.
  static MappingCheck of_this_process();

  /// True when a job of `ranks` is so small that it need not be checked.
  bool surely_fits(std::uint32_t ranks) const noexcept;

  /// One look at the first rank, `passed_ms` after the one before: `mappings` of this process, and the rank's state.
  /// True once it has mapped what its start needs: it has mapped something, and no more since it has slept for 300 ms,
  /// or had a processor for 100; or it ends. While it waits for a processor or a disk it is only slow.
  bool has_started(std::size_t mappings, const ProcessState& first, std::uint64_t passed_ms) noexcept;

  /// Throws Error, with the remedy, if `ranks` of the kind that has been looked at don't fit. Those of none do.
  void refuse(std::uint32_t ranks) const;

 private:
  std::size_t limit_;
  std::size_t before_;
  std::size_t most_;             // so far
  std::uint64_t slept_ms_ = 0;   // since the last mapping came
  std::uint64_t ran_until_ = 0;  // had run for so many ms when the last mapping came
};

}  // namespace coracle::internals
