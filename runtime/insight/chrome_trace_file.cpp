// Its file, and what is in it.
#include "runtime/insight/chrome_trace_file.hpp"

#include <fmt/format.h>

#include "runtime/insight/chrome_trace.hpp"
#include "runtime/insight/output_file.hpp"

namespace coracle::internals {
namespace {

class ChromeTraceFile final : public TraceOutput {
 public:
  explicit ChromeTraceFile(const std::string& path)
      : file_(path, fmt::format("can't write the trace to {} (--trace)", path)) {}

  std::string write(JobTrace trace) override { return file_.finish(write_chrome_trace(trace, file_.get())); }

 private:
  OutputFile file_;
};

}  // namespace

std::unique_ptr<TraceOutput> open_chrome_trace(const std::string& path) {
  return std::make_unique<ChromeTraceFile>(path);
}

}  // namespace coracle::internals
