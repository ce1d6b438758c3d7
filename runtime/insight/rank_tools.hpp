// RankTools: the tools of one rank: that of CORACLE_TOOL, and the writers of its trace and summary.
#pragma once

#include <coracle_tool.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/event_loop.hpp"
#include "runtime/core/events.hpp"
#include "runtime/core/std_parts.hpp"
#include "runtime/insight/summary_writer.hpp"
#include "runtime/insight/trace_writer.hpp"
#include "runtime/job/job.hpp"

namespace coracle::internals {

/// While it lives, what its rank's loop does is told to the tools that the job wants, if any. It outlives the rank, and
/// the loop outlives it.
class RankTools {
 public:
  /// Throws Error where a tool can't be loaded, or does not want to.
  RankTools(const JobRegion& region, std::uint32_t rank, EventLoop& loop);
  ~RankTools();
  RankTools(const RankTools&) = delete;
  RankTools& operator=(const RankTools&) = delete;

 private:
  struct Facts;
  void load(const std::string& path);
  /// To all of several.
  static void tell_all(void* self, const coracle_event* event);

  EventLoop& loop_;
  std::unique_ptr<Facts> facts_;
  std::unique_ptr<TraceWriter> writer_;
  std::unique_ptr<SummaryWriter> summary_;
  std::vector<coracle_tool> tools_;
  std::unique_ptr<Events> events_;
};

}  // namespace coracle::internals
