// Opening, writing and closing the file of a trace; reading a region's traces.
#include "runtime/launch/trace_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/core/error.hpp"
#include "runtime/insight/chrome_trace.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {

std::optional<TraceFormat> trace_format_of(std::string_view path) noexcept {
  if (path.ends_with(".json")) return TraceFormat::chrome;
  return std::nullopt;
}

TraceFile::TraceFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  was_there_ = ::access(path_.c_str(), F_OK) == 0;
  file_.reset(std::fopen(path_.c_str(), "we"));
  if (!file_) throw_errno(errno, fmt::format("can't write the trace to {} (--trace)", path_));
}

TraceFile::~TraceFile() {
  if (file_ && !is_written_ && !was_there_) ::unlink(path_.c_str());
}

void TraceFile::write(JobTrace trace) {
  if (!file_ || std::exchange(is_written_, true)) return;
  begin_at_zero(trace);
  std::uint64_t events = 0;
  for (const RankEvents& rank : trace.ranks) events += rank.events.size();
  bool is_fine = write_chrome_trace(trace, file_.get());
  is_fine = std::fclose(file_.release()) == 0 && is_fine;
  if (!is_fine) return say("the trace in {} is not whole: {}", path_, std::strerror(errno));
  if (events == 0) say("the trace in {} is empty: no rank has come to coracle::run or MPI_Init", path_);
  if (const std::uint64_t dropped = trace.dropped(); dropped > 0)
    say("the trace in {} has {} events, and lacks {} that came later, for which there was no room: give each rank more "
        "by --trace-buffer",
        path_, events, dropped);
}

JobTrace read_traces(const JobRegion& region) {
  JobTrace trace;
  const JobHeader& header = region.header();
  trace.is_virtual = header.shape.placement == Placement::sim;
  if (header.shape.trace_bytes == 0) return trace;
  const TickScale real({header.start_ticks, header.start_ns}, TickSample::take(header.ticks_of_processor));
  for (std::uint32_t rank = region.first_rank(); region.is_local(rank); ++rank) {
    RankEvents events = read_trace(TraceMemory(region.trace(rank)), rank, region.node_of(rank));
    if (!trace.is_virtual && header.ticks_of_processor) set_times(events, real);
    trace.ranks.push_back(std::move(events));
  }
  return trace;
}

}  // namespace coracle::internals
