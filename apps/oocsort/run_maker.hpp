// The first half of a sort: a rank's part of the input becomes sorted runs in the paged segment.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "apps/common/file.hpp"
#include "apps/oocsort/block_sorter.hpp"
#include "apps/oocsort/outflow.hpp"
#include "apps/oocsort/plan.hpp"

namespace coracle::oocsort {

class RunMaker {
 public:
  /// Everything must outlive it. `progress` is told of records that have become part of a run.
  RunMaker(Rank& self, const Plan& plan, const File& input, PagedSegment& segment,
           std::function<void(std::uint64_t)> progress);

  /// Once. Reads a run while it sorts the one before, in blocks between which others' requests are served.
  Task<> make_runs(bool wants_checksum);

  /// The keys of this rank's samples; see Samples.
  std::vector<std::byte> take_samples() noexcept { return std::move(samples_); }
  /// Of the records of this rank's part, if wanted.
  std::uint64_t input_checksum() const noexcept { return checksum_; }

 private:
  static Task<> make_in(Scope& scope, RunMaker& maker) { return maker.make(scope); }
  Task<> make(Scope& scope);
  std::span<std::byte> buffer_of(std::uint64_t run);
  Task<> read(std::uint64_t run);
  Task<> sort_blocks(std::span<std::byte> records);
  Task<> write(Scope& scope, std::uint64_t run);

  Rank& self_;
  const Plan& plan_;
  const File& input_;
  std::function<void(std::uint64_t)> progress_;
  std::uint64_t first_run_;
  std::uint64_t runs_;
  BlockSorter sorter_;
  Outflow out_;
  std::vector<std::byte> buffers_[2];
  std::vector<std::byte> samples_;
  std::uint64_t checksum_ = 0;
  bool wants_checksum_ = false;
};

}  // namespace coracle::oocsort
