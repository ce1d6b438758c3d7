// Lanes: the rows of a rank in a picture of its trace. Tasks take turns on one thread, and what they wait for overlaps:
// so each gets rows in which its spans lie side by side or in each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/insight/trace_spans.hpp"

namespace coracle::internals {

/// Rows of one kind of spans.
enum class LaneGroup : std::uint32_t { rank, tasks, messages, operations, chunks, pages, dma };

LaneGroup group_of(coracle_event_kind kind) noexcept;

/// A row: its group, times kLanesMax, and its number within. As threads in Chrome's format.
constexpr std::uint32_t kLanesMax = 10000;

/// "tasks", "tasks 2" ...
std::string name_of_lane(std::uint32_t lane);

/// Gives each span of a rank its lane. In a lane no two spans overlap, but that one may lie in another of the same
/// task. Expects them in the order of their begins, and keeps it.
void set_lanes(std::span<TraceSpan> spans);

}  // namespace coracle::internals
