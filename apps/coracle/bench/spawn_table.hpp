// `coracle bench spawn`, the command's part: many jobs, and one table of placements side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "apps/coracle/bench/report.hpp"
#include "runtime/job.hpp"

namespace coracle::internals::bench {

/// Jobs of each number of ranks, in `placement`, or in pvas and process when none is given.
Report spawn_table(const std::vector<std::uint32_t>& ranks, std::optional<Placement> placement, bool quick);
/// Jobs over several nodes of this machine: how long until all ranks are there, and until they have met.
Report node_spawn_table(const std::vector<std::uint32_t>& ranks, std::uint32_t nodes,
                        std::optional<Placement> placement, bool quick);

}  // namespace coracle::internals::bench
