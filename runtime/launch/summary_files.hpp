// SummaryFiles: where the head of a job, or its only launcher, leaves the job's summary: on the screen, and in files.
#pragma once

#include <memory>

#include "runtime/insight/output_file.hpp"
#include "runtime/insight/rank_summary.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

class SummaryFiles {
 public:
  /// Makes the files, if they are wanted, so that those that can't be written are known before the job begins: throws
  /// Error.
  explicit SummaryFiles(const JobOptions& options);

  bool is_wanted() const noexcept { return is_wanted_; }
  /// Says it, too. Once.
  void write(const JobSummaries& summaries);

 private:
  bool is_wanted_;
  std::unique_ptr<OutputFile> json_;
  std::unique_ptr<OutputFile> picture_;
};

/// What the ranks of a region have added up, with times on this machine's clock.
JobSummaries read_summaries(const JobRegion& region);

}  // namespace coracle::internals
