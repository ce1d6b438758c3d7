// How a rank has failed, in words for the user.
#pragma once

#include <chrono>
#include <string>

#include "runtime/job/failure_record.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/process.hpp"
#include "runtime/launch/job_failure.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

/// Of several ranks in one process those of the crash that ended it, else of the likeliest cause.
FailureRecord failure_record_of(const JobRegion& region, const RankProcess& process);

/// Of one that has ended with `status` and by no order. `ending`: the launcher was ending the job then.
JobFailure failure_of(const JobRegion& region, const RankProcess& process, const ExitStatus& status,
                      const FailureRecord& record, bool ending);

/// What to say of one that has ended well without ever coming to coracle::run, when others wait.
std::string unattached_text(const RankProcess& process);

/// "1 s", "1500 ms".
std::string text_of(const std::chrono::nanoseconds& time);

}  // namespace coracle::internals
