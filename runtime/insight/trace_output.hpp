// TraceOutput: where a job's trace goes, in some format. Formats that need a library of their own are the `coracle`
// command's, so that no program of a user is linked with it.
#pragma once

#include <memory>
#include <string>

#include "runtime/insight/trace_reader.hpp"

namespace coracle::internals {

/// What it has made, and never written to, is gone with it.
class TraceOutput {
 public:
  virtual ~TraceOutput() = default;
  /// Once. "": the trace is there; else why it is not, or not whole.
  virtual std::string write(JobTrace trace) = 0;
};

/// Makes the file, so that one that can't be written is known before the job begins: throws Error.
using OpenTrace = std::unique_ptr<TraceOutput> (*)(const std::string& path);

}  // namespace coracle::internals
