// Opening, writing and closing it.
#include "runtime/insight/chrome_trace_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/insight/chrome_trace.hpp"

namespace coracle::internals {
namespace {

class ChromeTraceFile final : public TraceOutput {
 public:
  explicit ChromeTraceFile(std::string path)
      : path_(std::move(path)), was_there_(::access(path_.c_str(), F_OK) == 0), file_(std::fopen(path_.c_str(), "we")) {
    if (!file_) throw_errno(errno, fmt::format("can't write the trace to {} (--trace)", path_));
  }
  ~ChromeTraceFile() override {
    if (file_ && !was_there_) ::unlink(path_.c_str());
  }
  ChromeTraceFile(const ChromeTraceFile&) = delete;
  ChromeTraceFile& operator=(const ChromeTraceFile&) = delete;

  std::string write(JobTrace trace) override {
    const bool is_written = write_chrome_trace(trace, file_.get());
    const bool is_closed = std::fclose(file_.release()) == 0;
    return is_written && is_closed ? "" : std::strerror(errno);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::string path_;
  bool was_there_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace

std::unique_ptr<TraceOutput> open_chrome_trace(const std::string& path) {
  return std::make_unique<ChromeTraceFile>(path);
}

}  // namespace coracle::internals
