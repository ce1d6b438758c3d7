// Which part of every run each rank merges: samples of all runs, in memory, say about where the parts begin; the runs
// themselves say where exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/oocsort/plan.hpp"

namespace coracle::oocsort {

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
