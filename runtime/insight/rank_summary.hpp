// RankSummary: a rank's sums as its launcher reads them, with times in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/ticks.hpp"
#include "runtime/insight/clock_alignment.hpp"
#include "runtime/insight/summary_memory.hpp"

namespace coracle::internals {

struct RankSummary {
  std::uint32_t rank = 0;
  std::uint32_t node = 0;
  SummaryFacts facts;
  std::vector<std::string> modules;  ///< Of lines whose places are not known yet: only near the rank.
  std::vector<WaitLine> lines;
  std::vector<PeerTraffic> peers;
  std::vector<CollectiveCalls> calls;
  std::vector<CollectiveEntry> entries;

  bool was_there() const noexcept { return facts.is_open != 0; }
};

/// Of a rank that has ended. One that was never there leaves nothing.
RankSummary read_summary(const SummaryMemory& memory, std::uint32_t rank, std::uint32_t node);

/// Turns ticks into nanoseconds.
void set_times(RankSummary& rank, const TickScale& scale) noexcept;
/// Of moments, not of what has lasted for a while: from a node's clock to the head's.
void set_clock(RankSummary& rank, const NodeClock& clock) noexcept;

/// As one message of a node's launcher: at most some 300 KB.
std::vector<std::byte> bytes_of(const RankSummary& rank);
/// Throws Error (bad_input) for what is none of a job of `size` ranks.
RankSummary summary_of(std::span<const std::byte> bytes, std::uint32_t size);

/// All of a job's.
struct JobSummaries {
  std::vector<RankSummary> ranks;  ///< By rank; moments are of one clock.
  std::uint32_t size = 0;          ///< Of the job; ranks of a node whose launcher has gone are not above.
  std::uint32_t nodes = 1;
  bool is_virtual = false;
  std::uint64_t uncertainty_ns = 0;  ///< How far the clocks of two nodes may be apart.
};

}  // namespace coracle::internals
