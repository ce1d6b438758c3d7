// TraceFile: where the head of a job, or its only launcher, leaves the job's trace; and what nodes have of it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/core/std_parts.hpp"
#include "runtime/insight/trace_reader.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

/// How a trace is written.
enum class TraceFormat { chrome };

/// By a file's ending; nothing for another.
std::optional<TraceFormat> trace_format_of(std::string_view path) noexcept;

class TraceFile {
 public:
  /// Makes the file, so that one that can't be written is known before the job begins: throws Error. "": no trace is
  /// wanted.
  explicit TraceFile(std::string path);
  /// A file that nothing was written to is not left behind, unless it was there before.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  bool is_wanted() const noexcept { return !path_.empty(); }
  /// Tells the user of what was dropped, and where it can't be written. Once.
  void write(JobTrace trace);

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::string path_;
  bool was_there_ = false;
  bool is_written_ = false;
  std::unique_ptr<std::FILE, Close> file_;
};

/// What the ranks of a region have left, with times on this machine's clock.
JobTrace read_traces(const JobRegion& region);

}  // namespace coracle::internals
