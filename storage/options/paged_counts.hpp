// PagedCounts: what a paged segment has counted.
#pragma once

#include <cstdint>

namespace coracle::internals {

/// Counted since the segment was made or opened; of this rank's cache (shared by the ranks that share it).
struct PagedCounts {
  std::uint64_t hits = 0;        ///< Of this rank alone.
  std::uint64_t misses = 0;      ///< Pages asked for, included those read ahead or taken in.
  std::uint64_t from_peers = 0;  ///< Misses served by another cache's DRAM.
  std::uint64_t ssd_reads = 0;   ///< Pages read from the file of this cache's home.
  std::uint64_t ssd_writes = 0;  ///< Pages written to it.
  std::uint64_t evictions = 0;
  std::uint64_t dirty_evictions = 0;
  std::uint64_t invalidations = 0;
  std::uint64_t read_ahead = 0;
  std::uint64_t offered = 0;    ///< Hints that a page was about to leave this cache (PagedOptions::chances),
  std::uint64_t handed_on = 0;  ///< and those of them after which another cache took it in.
  std::uint64_t taken_in = 0;   ///< Pages that this cache took in after hints of others.
};

}  // namespace coracle::internals
