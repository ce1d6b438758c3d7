// TraceFile: where the head of a job, or its only launcher, leaves the job's trace; and what nodes have of it.
#pragma once

#include <memory>
#include <string>

#include "runtime/insight/trace_output.hpp"
#include "runtime/insight/trace_reader.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

class TraceFile {
 public:
  /// `open` makes it: throws what that throws. "": no trace is wanted.
  TraceFile(std::string path, OpenTrace open);

  bool is_wanted() const noexcept { return !path_.empty(); }
  /// Tells the user of what was dropped, and where it can't be written. Once.
  void write(JobTrace trace);

 private:
  std::string path_;
  std::unique_ptr<TraceOutput> output_;
};

/// What the ranks of a region have left, with times on this machine's clock.
JobTrace read_traces(const JobRegion& region);

}  // namespace coracle::internals
