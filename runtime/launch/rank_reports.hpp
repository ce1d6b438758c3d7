// What a launcher tells of its ranks: a crash, by the text that was written inside the dying rank (failure_record.hpp),
// made readable; and, asking every rank, what its coroutines await.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "runtime/core/task.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/rank_process.hpp"

namespace coracle::internals {

struct CrashText {
  std::string headline;  ///< "SIGSEGV (address 0x0, not mapped)"
  std::string
      details;  ///< Further lines, indented; backtrace with names, and with source lines where addr2line finds them.
};

/// `programs`: the paths of the job's programs, for frames that name one as it was called. Runs addr2line if there is
/// one, for at most `patience`.
CrashText readable_crash(std::string_view raw, std::span<const std::string> programs,
                         std::chrono::milliseconds patience);

/// Makes the running ranks report on standard error, one after another, and says for the others how far they have come.
/// Takes at most some six seconds, half of that for the text of those that run; none of `processes` may be reaped
/// meanwhile. `programs`: as for readable_crash().
Task<> report_waits(const JobRegion& region, std::span<const RankProcess> processes,
                    std::span<const std::string> programs);

}  // namespace coracle::internals
