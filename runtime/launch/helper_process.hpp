// HelperProcess: a process beside the ranks, which its launcher looks after.
#pragma once

#include <sys/types.h>

#include <string>

#include "runtime/core/io.hpp"
#include "runtime/job/process.hpp"

namespace coracle::internals {

class HelperProcess {
 public:
  virtual ~HelperProcess() = default;
  /// What it needs done while there are ranks.
  virtual Task<> serve(Io&) { co_return; }
  /// A child that is no rank has ended; true when it is this one.
  virtual bool ended(pid_t pid, const ExitStatus& status) = 0;
  /// All ranks have ended, well or not: ends the process, and waits for that. Returns how it has failed, or "".
  virtual std::string finish(bool job_failed) = 0;
};

}  // namespace coracle::internals
