// Late ranks: who came last to collectives, and how long others waited for that one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/insight/rank_summary.hpp"

namespace coracle::internals {

/// How often a rank came last to collectives of a name.
struct LateRank {
  std::uint32_t rank = 0;
  std::string name;
  std::uint64_t times = 0;
  std::uint64_t others_ns = 0;  ///< What the others waited until it came, added up.
  std::uint64_t most_ns = 0;    ///< The same in the worst call.
};

struct LateRanks {
  std::vector<LateRank> ranks;  ///< The worst first.
  std::uint64_t judged = 0;     ///< Calls of which all members' times are known, and which came last.
  std::uint64_t undecided = 0;  ///< The last two came within what clocks of nodes may differ by.
  std::uint64_t unknown = 0;    ///< Calls that not all members have kept, or not all have come to.
};

/// Of the calls that ranks have kept: those of each rank's first collectives. A call of a team counts if each rank that
/// has called any collective of that team has kept it. Who had left before the last came has not waited for it.
LateRanks late_ranks_of(const JobSummaries& job);

}  // namespace coracle::internals
