// The events of a rank as OTF2 wants them: row by row, where spans are entered and left, and messages are moments.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/insight/trace_spans.hpp"

namespace coracle::internals {

struct RowEvent {
  enum class What : std::uint8_t { enter, leave, message };
  std::uint64_t ns = 0;
  What what = What::enter;
  const TraceSpan* span = nullptr;
};

/// In order of time. What is entered last is left first.
struct RankRow {
  std::uint32_t lane = 0;
  std::vector<RowEvent> events;
};

/// The row of the program's tasks first, also where it has no events. It has the messages as well, each in the moment
/// in which it left, or has come. `spans` have their lanes, and stay as long as the result.
std::vector<RankRow> rows_of(const std::vector<TraceSpan>& spans);

}  // namespace coracle::internals
