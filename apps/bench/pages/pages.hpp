// What the benchmarks of memory on SSD share.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/pages/raw_reads.hpp"
#include "apps/common/out_of_core.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::bench {

/// The bytes that `word` says, for an option that takes whole pages of every size. Throws WrongUsage.
std::uint64_t whole_pages(const char* option, const std::string& word, std::uint64_t least, std::uint64_t most);

/// A new folder for the files of one job; goes with all that is in it.
class PagesFolder {
 public:
  /// In `parent`, or where temporary files go if that is "". Throws Error.
  explicit PagesFolder(const std::string& parent);
  ~PagesFolder();
  PagesFolder(const PagesFolder&) = delete;
  PagesFolder& operator=(const PagesFolder&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// What is measured on a real SSD.
struct PagesOptions {
  std::uint64_t file_bytes = 0;
  std::uint64_t cache_bytes = 0;
};

// Each part runs on every rank of a job.
/// One rank: gets and puts of cached pages.
Task<> bench_page_hits(Bench& bench);
/// One rank: pages that are read from the file.
Task<> bench_page_misses(Bench& bench, const PagesOptions& sizes);
/// Two ranks with a cache each: the other's DRAM beside the file.
Task<> bench_page_peers(Bench& bench, const PagesOptions& sizes);
/// Several ranks, or nodes, that read the same data.
Task<> bench_page_cooperation(Bench& bench, const PagesOptions& sizes);
/// In virtual time, on a modelled SSD: the paper's figures 5 to 7.
Task<> bench_page_scaling(Bench& bench);

/// In virtual time as well: one reader and idle peers, with and without N-chance forwarding. From four nodes on.
Task<> bench_page_last_copies(Bench& bench);

/// Pages in an order in which a page comes again only after all others: no cache smaller than the file has it then.
class PageWalk {
 public:
  /// `random`: jumps about; the same for the same seed.
  PageWalk(std::uint64_t first, std::uint64_t pages, bool random, std::uint64_t seed = 1);
  std::uint64_t next();

 private:
  std::vector<std::uint64_t> order_;
  std::size_t at_ = 0;
};

/// Gets `count` pages as `walk` gives them, `at_once` at a time, for each of which there is room for a page at
/// `target`.
Task<> get_pages(PagedSegment& segment, PageWalk& walk, std::uint64_t at_once, std::uint64_t count, std::byte* target);

/// Of the segments' files, in the job's folder.
std::string path_of_segments(const Bench& bench);
/// Of a segment of its own there, with all defaults but what is said. Replaces the last one's file.
PagedOptions paged_options(const Bench& bench, std::uint64_t bytes, std::uint64_t page_bytes,
                           std::uint64_t cache_bytes);
/// What is written at once, and got at once by a sequential reader.
inline constexpr std::size_t kChunk = 4 << 20;
/// Makes the content of `pages`, which begin at `offset` in the segment.
using FillPages = void (*)(std::span<std::byte> pages, std::uint64_t offset);
void fill_alike(std::span<std::byte> pages, std::uint64_t offset);
/// A new segment in which every page has been written once, by rank 0, and none is cached. Collective.
Task<PagedSegment> written_segment(Rank& self, PagedOptions options, FillPages fill = fill_alike);
/// Until nothing is on its way to the cache: so that each batch reads as many pages as it is measured by, and none
/// while others are measured. Of a segment that was written whole and that this rank alone reads.
Task<> finish_reading_ahead(PagedSegment& segment);

/// A sequential reader, in chunks: goes on where it was, at the end from the start.
class InOrder {
 public:
  using Look = std::function<void(std::span<const std::byte> bytes, std::uint64_t offset)>;
  /// `look` is called with all that is read, if there is one.
  explicit InOrder(PagedSegment& segment, Look look = {}) : segment_(segment), look_(std::move(look)) {}
  /// And finishes what is read ahead.
  Task<> read(std::uint64_t bytes);

 private:
  PagedSegment& segment_;
  Look look_;
  std::uint64_t at_ = 0;
  HugeBuffer buffer_{kChunk};
};

nlohmann::json json_of(const PagedCounts& counts, std::uint64_t operations);

}  // namespace coracle::internals::bench
