// Asking every rank what its coroutines await.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/job/job.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// Makes the running ranks report on standard error, one after another, and says for the others how far they have come.
/// Takes at most some six seconds, half of that for the text of those that run; none of `processes` may be reaped
/// meanwhile, but `meanwhile` is called every millisecond or so. `program`: as for readable_crash().
void report_waits(const JobRegion& region, const std::vector<RankProcess>& processes, const std::string& program,
                  const std::function<void()>& meanwhile);

}  // namespace coracle::internals
