// How a sort divides its records among ranks and runs, and each rank's memory among its buffers; and which part of
// every run each rank merges: samples of all runs, in memory, say about where the parts begin; the runs themselves say
// where exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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

/// A place in the sorted order, which equal keys don't blur: records are ordered by (key, run, place in the run).
struct Splitter {
  std::vector<std::byte> key;
  std::uint64_t run = 0;
  std::uint64_t record = 0;
};

/// Of the records between them lies the one that is looked for: [low, high].
struct Bounds {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// The keys of records 0, step, 2 * step, ... of every run.
class Samples {
 public:
  static std::uint64_t count_of(const Plan& plan, const Run& run) noexcept {
    return (run.records + plan.sample_step - 1) / plan.sample_step;
  }
  /// `keys`: of all samples, run by run.
  Samples(const Plan& plan, std::vector<std::byte> keys);

  /// Where the records of `part` of `parts` of equal size begin, about. `part` from 1 to parts - 1; there must be
  /// samples.
  Splitter splitter(std::uint32_t part, std::uint32_t parts) const;
  /// How many records of `run` come before `splitter`, about.
  Bounds bounds(const Splitter& splitter, std::uint64_t run) const;

 private:
  struct Place {
    std::uint64_t run;
    std::uint64_t record;
    const std::byte* key;
  };
  const Plan& plan_;
  std::vector<std::byte> keys_;
  std::vector<std::uint64_t> first_;  // sample of each run, and the number of all
  std::vector<Place> sorted_;
};

/// Whether a record of `run` with `key` comes before `splitter`; not for a record of the splitter's own run.
bool comes_before(const RecordShape& shape, const std::byte* key, std::uint64_t run, const Splitter& splitter);

}  // namespace coracle::oocsort
