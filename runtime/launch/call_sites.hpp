// Where programs have called functions of MPI: addresses in what ranks have left become places in the sources. That
// takes the programs' files, so it is done on the machine of the ranks.
#pragma once

#include <vector>

#include "runtime/insight/rank_summary.hpp"
#include "runtime/insight/trace_reader.hpp"

namespace coracle::internals {

/// Takes some seconds at most, where there are any. What is not found gets words: "relax in solver", "solver+0x1234".
void find_call_sites(std::vector<RankSummary>& ranks);
void find_call_sites(std::vector<RankEvents>& ranks);

}  // namespace coracle::internals
