// Measuring the first rank of a `pvas` job.
#include "runtime/launch/mapping_check.hpp"

#include <fmt/format.h>

#include <system_error>

#include "runtime/core/error.hpp"
#include "runtime/pvas/mapping_budget.hpp"

namespace coracle::internals {
MappingCheck MappingCheck::of_this_process() {
  return {pvas::mapping_limit(), pvas::count_mappings()};
}

bool MappingCheck::surely_fits(std::uint32_t ranks) const noexcept {
  constexpr std::size_t kMostPerRank = 1000;  // a C++ program has some 36, one of Coracle 80, LAMMPS 310
  return before_ + ranks * kMostPerRank < limit_;
}

bool MappingCheck::has_started(std::size_t mappings, const ProcessState& first, std::uint64_t passed_ms) noexcept {
  constexpr std::uint64_t kSleptMs = 300;  // more than a file system of another process's takes for a library
  constexpr std::uint64_t kRanMs = 100;
  if (first.is_ending()) return true;
  if (mappings > most_) {
    most_ = mappings;
    slept_ms_ = 0;
    ran_until_ = first.processor_ms;
    return false;
  }
  if (first.letter == 'S') slept_ms_ += passed_ms;
  return most_ != before_ && (slept_ms_ >= kSleptMs || first.processor_ms - ran_until_ >= kRanMs);
}

void MappingCheck::refuse(std::uint32_t ranks) const {
  if (most_ == before_) return;
  constexpr std::size_t kLater = 4;  // what a rank maps once it works: heaps, rings
  const std::size_t per_rank = most_ - before_ + kLater;
  const std::size_t wanted = before_ + ranks * per_rank;
  if (wanted < limit_) return;
  throw Error(
      std::make_error_code(std::errc::not_enough_memory),
      fmt::format("{} ranks in one address space need about {} mappings, but vm.max_map_count is {}: room for {} "
                  "ranks of this program. Start fewer, raise it (sysctl vm.max_map_count={}), or use --place process",
                  ranks, wanted, limit_, (limit_ - before_ - 1) / per_rank, (wanted / 65536 + 1) * 65536));
}

}  // namespace coracle::internals
