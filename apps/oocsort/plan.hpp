// How a sort divides its records among ranks and runs, and each rank's memory among its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/oocsort/record.hpp"

namespace coracle::oocsort {

/// The first of `records` that belongs to `rank` of `ranks`, each of which has equally many, but for one; of rank
/// `ranks`: the end.
constexpr std::uint64_t first_of(std::uint64_t records, std::uint32_t ranks, std::uint32_t rank) noexcept {
  return records / ranks * rank + records % ranks * rank / ranks;
}

/// A sorted part of one rank's records in the paged segment.
struct Run {
  std::uint64_t offset;  ///< Of its first byte, a multiple of the page.
  std::uint64_t records;
};

/// The same at every rank. A rank's memory: 5/16 for each of two runs (one is read while the other is sorted) and 1/8
/// for what they are written through, or, later, 1/2 for two pieces of every run and the same 1/8; 1/4 for the cache of
/// pages.
struct Plan {
  RecordShape shape;
  std::uint64_t records = 0;
  std::uint32_t ranks = 1;
  std::uint64_t page_bytes = 0;
  std::uint64_t cache_bytes = 0;
  std::uint64_t run_records = 0;    ///< Of each run but the last of a rank.
  std::uint64_t region_bytes = 0;   ///< Of the segment, for each rank's runs; whole pages.
  std::uint64_t write_bytes = 0;    ///< Of one write.
  std::uint64_t piece_records = 0;  ///< Of a run, read at a time.
  std::uint64_t sample_step = 0;    ///< Records of a run for which one is kept as a sample.
  std::vector<Run> runs;            ///< In the order of their records in the input.

  /// The first record of a rank's part of the input; of rank `ranks`: the end.
  std::uint64_t first_of(std::uint32_t rank) const noexcept { return oocsort::first_of(records, ranks, rank); }
  std::uint64_t runs_of(std::uint32_t rank) const noexcept;
  /// The place in `runs` of a rank's first.
  std::uint64_t first_run_of(std::uint32_t rank) const noexcept;
};

inline constexpr std::uint64_t kMemoryMin = 1 << 20;

/// `page_bytes`: 0 to have it chosen. Throws Error (bad_input) when `memory` bytes per rank are too few to merge all
/// runs at once.
Plan make_plan(RecordShape shape, std::uint64_t records, std::uint32_t ranks, std::uint64_t memory,
               std::uint64_t page_bytes);

}  // namespace coracle::oocsort
