// `coracle bench pagetables`, the command's part: jobs of several sizes, in one address space and in many, and how what
// they take grows with the number of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/report.hpp"
#include "runtime/job.hpp"

namespace coracle::internals::bench {

/// Jobs of each number of ranks and each size of block, in `placement`, or in pvas and process when none is given.
Report pagetables_table(const std::vector<std::uint32_t>& ranks, std::optional<Placement> placement,
                        const Choices& choices, bool quick);

}  // namespace coracle::internals::bench
