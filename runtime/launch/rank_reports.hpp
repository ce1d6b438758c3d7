// What a launcher tells of its ranks when it asks every one: what its coroutines await, or in which call its program
// is.
#pragma once

#include <span>
#include <string>

#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// Makes the running ranks report on standard error, one after another, and says for the others how far they have come.
/// Takes at most some six seconds, half of that for the text of those that run; none of `processes` may be reaped
/// meanwhile. `programs`: as for readable_crash() (backtrace_text.hpp).
Task<> report_waits(const JobRegion& region, std::span<const RankProcess> processes,
                    std::span<const std::string> programs);

}  // namespace coracle::internals
