// Launcher: makes a job's region, starts its ranks in the placement asked for, and sees them to their end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/launch/guardian.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/local_ranks.hpp"
#include "runtime/launch/standard_files.hpp"
#include "runtime/launch/summary_files.hpp"
#include "runtime/launch/trace_file.hpp"

namespace coracle::internals {

/// For jobs whose nodes, if they have several, are simulated; see head_launcher.hpp for others. Owned by a process that
/// has one thread and no other children. Nothing of a job outlives its launcher: its memory is
/// anonymous, and the kernel kills its ranks when the launcher dies.
class Launcher {
 public:
  /// Checks the options, finds the program and makes the job's memory. Throws Error when the job can't be run.
  explicit Launcher(JobOptions options);
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// Starts the ranks and waits for them. Returns the job's exit status: 0, that of the first rank that failed (128 +
  /// signal if a signal killed it), 124 after the time limit, 128 + signal when a signal asked the launcher to end.
  /// Throws Error when not even the first rank could be started.
  int run();

 private:
  void set_up_standard_files(StandardFiles& standard, Scope& services, Io& io);

  Guardian guardian_;  // before anything is mapped
  JobOptions options_;
  std::unique_ptr<TraceFile> trace_;
  std::unique_ptr<SummaryFiles> summary_;
  std::unique_ptr<LocalRanks> ranks_;
};

/// Throws Error for options that no job can have, and for a placement that this machine does not offer.
void check(const JobOptions& options);

}  // namespace coracle::internals
