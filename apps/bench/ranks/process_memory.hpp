// What the kernel says of the memory of a job's ranks, and how that grows with their number, as a line and a square.
#pragma once

#include <span>
#include <string>

#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

/// In bytes, of all address spaces of a job together.
struct ProcessMemory {
  double page_tables = 0;   ///< VmPTE of /proc/PID/status.
  double proportional = 0;  ///< Pss of /proc/PID/smaps_rollup: shared pages divided among those that map them.
  double resident = 0;      ///< Rss: shared pages in each that maps them.
};

/// The value in bytes of a line such as "VmPTE:     48 kB". Throws Error where there is none.
double kilobytes_line(const std::string& path, const std::string& key);

/// Of all ranks, which must be alive. Ranks that share an address space share its page tables too, which then count
/// once (with the launcher's, whose address space it is).
ProcessMemory memory_of_all(Rank& self);

/// Of a quantity with the number of ranks: linear * n + quadratic * n^2.
struct Growth {
  double linear = 0;
  double quadratic = 0;
};

/// That comes nearest to `values` at `numbers` by least squares. At least two different numbers.
Growth growth_of(std::span<const double> numbers, std::span<const double> values);

}  // namespace coracle::internals::bench
