// Writing a trace, and what is said of it; reading a region's traces.
#include "runtime/launch/trace_file.hpp"

#include <cstdint>
#include <utility>

#include "runtime/launch/call_sites.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals {

TraceFile::TraceFile(std::string path, OpenTrace open) : path_(std::move(path)) {
  if (!path_.empty()) output_ = open(path_);
}

void TraceFile::write(JobTrace trace) {
  const std::unique_ptr<TraceOutput> output = std::exchange(output_, nullptr);
  if (!output) return;
  begin_at_zero(trace);
  std::uint64_t events = 0;
  for (const RankEvents& rank : trace.ranks) events += rank.events.size();
  const std::uint64_t dropped = trace.dropped();
  if (const std::string why = output->write(std::move(trace)); !why.empty())
    return say("the trace in {} is not whole: {}", path_, why);
  if (events == 0) say("the trace in {} is empty: no rank has come to coracle::run or MPI_Init", path_);
  if (dropped > 0)
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
  find_call_sites(trace.ranks);
  return trace;
}

}  // namespace coracle::internals
