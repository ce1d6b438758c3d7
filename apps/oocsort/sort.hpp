// One rank's view of one sort.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "apps/common/file.hpp"
#include "apps/common/progress.hpp"
#include "apps/common/scratch_folder.hpp"
#include "apps/oocsort/new_file.hpp"
#include "apps/oocsort/options.hpp"
#include "apps/oocsort/plan.hpp"
#include "apps/oocsort/report.hpp"
#include "apps/oocsort/splitters.hpp"

namespace coracle::oocsort {

/// Every step ends at all ranks together: well, or by Agreed.
class Sort {
 public:
  Sort(Rank& self, const Options& options);
  /// Collective, once.
  Task<Report> run();

 private:
  Task<> open_input();
  Task<> sort_through_segment(const File& output);
  Task<> make_segment(const ScratchFolder& folder, std::unique_ptr<PagedSegment>& segment);
  Task<Samples> make_runs(PagedSegment& segment);
  Task<> merge(PagedSegment& segment, const Samples& samples, const File& output);
  Task<> find_places(PagedSegment& segment, const Samples& samples, std::vector<std::uint64_t>& places);
  Task<> verify(const File& output);
  Task<> check_output(const File& output, std::uint64_t& sum);
  Task<> compare(std::uint64_t input, std::uint64_t output);
  void advance(std::uint64_t records);
  double lap(std::uint64_t& began_ns);
  Task<Report> report();

  Rank& self_;
  const Options& options_;
  Plan plan_;
  std::unique_ptr<File> input_;
  ProgressLine progress_;
  std::uint64_t done_ = 0;
  std::uint64_t input_checksum_ = 0;
  PagedCounts counts_;
  Report report_;
};

}  // namespace coracle::oocsort
