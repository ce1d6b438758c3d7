// The two halves of a sort: a rank's part of the input becomes sorted runs in the paged segment; then each rank merges
// its part of all runs into its part of the output.
#pragma once

#include <coracle/coracle.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "apps/common/file.hpp"
#include "apps/oocsort/plan.hpp"
#include "apps/oocsort/record.hpp"
#include "apps/oocsort/sorting.hpp"

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

/// For each run, how many of its records come before `splitter`. The runs of all ranks must have been written.
Task<std::vector<std::uint64_t>> places_of(const Plan& plan, PagedSegment& segment, const Samples& samples,
                                           Splitter splitter);

class RunMerger {
 public:
  /// Of each run the records from `begins` to `ends`. Everything must outlive it. `progress` is told of records that
  /// have been merged.
  RunMerger(Rank& self, const Plan& plan, PagedSegment& segment, std::span<const std::uint64_t> begins,
            std::span<const std::uint64_t> ends, const File& output, std::function<void(std::uint64_t)> progress);

  /// Once. Writes the records to `first`, counted in records of the output.
  Task<> merge(std::uint64_t first);

 private:
  /// A run's part. One piece is merged while the next is read, so that a page is read once.
  struct Source {
    Source(std::uint64_t first, std::uint64_t last) noexcept : next(first), end(last) {}
    std::uint64_t next;  // bytes of the segment, not yet asked for
    std::uint64_t end;
    std::size_t reading_bytes = 0;
    Event has_come;
    bool half = false;  // which of the two is being read
  };
  static Task<> merge_in(Scope& scope, RunMerger& merger) { return merger.merge_all(scope); }
  Task<> merge_all(Scope& scope);
  std::byte* half_of(std::size_t source, bool half) noexcept;
  void start_read(Scope& scope, std::size_t source);
  Task<> read(std::size_t source, std::uint64_t offset);
  /// The next records of a source, and the read of those behind them is under way; empty at its end.
  Task<std::span<const std::byte>> next_piece(Scope& scope, std::size_t source);

  const Plan& plan_;
  PagedSegment& segment_;
  std::function<void(std::uint64_t)> progress_;
  std::deque<Source> sources_;
  std::size_t piece_bytes_;
  std::vector<std::byte> pieces_;
  Outflow out_;
};

}  // namespace coracle::oocsort
