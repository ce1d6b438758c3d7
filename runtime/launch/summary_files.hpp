// SummaryFiles: where the head of a job, or its only launcher, leaves the job's summary: on the screen, and in files.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "runtime/insight/rank_summary.hpp"
#include "runtime/job/job.hpp"
#include "runtime/launch/job_options.hpp"

namespace coracle::internals {

class SummaryFiles {
 public:
  /// Makes the files, if they are wanted, so that those that can't be written are known before the job begins: throws
  /// Error.
  explicit SummaryFiles(const JobOptions& options);
  /// Files that nothing was written to are not left behind, unless they were there before.
  ~SummaryFiles();
  SummaryFiles(const SummaryFiles&) = delete;
  SummaryFiles& operator=(const SummaryFiles&) = delete;

  bool is_wanted() const noexcept { return is_wanted_; }
  /// Says it, too. Once.
  void write(const JobSummaries& summaries);

 private:
  /// One of them.
  class Output {
   public:
    explicit Output(std::string path);
    ~Output();
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    void write(const std::string& text);

   private:
    struct Close {
      void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };
    std::string path_;
    bool was_there_;
    bool is_written_ = false;
    std::unique_ptr<std::FILE, Close> file_;
  };

  bool is_wanted_;
  std::unique_ptr<Output> json_;
  std::unique_ptr<Output> picture_;
};

/// What the ranks of a region have added up, with times on this machine's clock.
JobSummaries read_summaries(const JobRegion& region);

}  // namespace coracle::internals
