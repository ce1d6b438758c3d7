// What a trace is to those who write it out: the events of all ranks, in nanoseconds since the first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/ticks.hpp"
#include "runtime/insight/trace_memory.hpp"

namespace coracle::internals {

/// What a rank has left, with times as it has read them.
struct RankEvents {
  std::uint32_t rank = 0;
  std::uint32_t node = 0;
  std::uint64_t dropped = 0;
  std::vector<std::string> texts;  ///< By number - 1.
  std::vector<StoredEvent> events;

  const std::string& text(std::uint32_t number) const noexcept {
    static const std::string none;
    return number == 0 || number > texts.size() ? none : texts[number - 1];
  }
};

/// Of a rank that has ended, or may still write. A rank that was never there leaves nothing.
RankEvents read_trace(const TraceMemory& memory, std::uint32_t rank, std::uint32_t node);

/// Turns ticks into nanoseconds.
void set_times(RankEvents& rank, const TickScale& scale) noexcept;

/// All of a job's.
struct JobTrace {
  std::vector<RankEvents> ranks;  ///< By rank; times are nanoseconds since the first event of all.
  bool is_virtual = false;

  std::uint64_t dropped() const noexcept;
};

/// Moves the times of all ranks so that the first event of all is at 0.
void begin_at_zero(JobTrace& trace) noexcept;

}  // namespace coracle::internals
