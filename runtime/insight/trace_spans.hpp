// TraceSpan: two events of a rank that belong together, as one piece of time.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/insight/trace_reader.hpp"

namespace coracle::internals {

struct TraceSpan {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;  ///< Later than the begin.
  StoredEvent begin{};
  StoredEvent end{};       ///< Of one that is not closed: all zero.
  bool is_closed = false;  ///< Else the rank has ended, or its memory was full, before its end.
  std::uint32_t lane = 0;  ///< See set_lanes().

  coracle_event_kind kind() const noexcept { return static_cast<coracle_event_kind>(begin.kind); }
};

/// All of a rank, in the order of their begins. Kinds that are not known are left out.
std::vector<TraceSpan> spans_of(const RankEvents& rank);

}  // namespace coracle::internals
