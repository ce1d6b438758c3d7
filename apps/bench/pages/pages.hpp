// What the parts of `coracle bench pages` share.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "storage/segment/paged_segment.hpp"

namespace coracle::internals::bench {

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

/// Of the segments' files, in the job's folder.
std::string path_of_segments(const Bench& bench);
/// Of a segment of its own there, with all defaults but what is said. Replaces the last one's file.
PagedOptions paged_options(const Bench& bench, std::uint64_t bytes, std::uint64_t page_bytes,
                           std::uint64_t cache_bytes);
/// A new segment in which every page has been written once, by rank 0, and none is cached. Collective.
Task<PagedSegment> written_segment(Rank& self, PagedOptions options);
/// Until nothing is on its way to the cache: so that each batch reads as many pages as it is measured by, and none
/// while others are measured. Of a segment that was written whole and that this rank alone reads.
Task<> finish_reading_ahead(PagedSegment& segment);

/// Of what the segment's cache has done between two moments.
PagedCounts since(const PagedCounts& before, const PagedCounts& now);
/// Of all members' caches together; collective.
Task<PagedCounts> sum_of(Team& team, PagedCounts mine);
nlohmann::json json_of(const PagedCounts& counts, std::uint64_t operations);

/// Of a segment on modelled SSDs. Bytes are scaled, what they take in time is kept in proportion: a page of 64 KiB
/// stands for one of 4 MiB, and the latency of the SSD shrinks likewise. A cache of 16 MiB stands for one of 16 GiB,
/// and data is counted in caches.
inline constexpr std::uint64_t kModelledPageBytes = 64 << 10;
PagedOptions modelled_options(const Bench& bench);
struct ModelledRun {
  double ns = 0;  ///< Until the last has ended.
  PagedCounts counts;
};
/// `operations`: of all ranks, in each of both runs.
Row modelled_row(const Bench& bench, const ModelledRun& with, const ModelledRun& without, const char* without_name,
                 std::uint64_t operations);

}  // namespace coracle::internals::bench
