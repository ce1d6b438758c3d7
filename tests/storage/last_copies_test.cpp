// N-chance forwarding: what becomes of pages that leave the last cache that has them, in simulated jobs.
#include "storage/last_copies.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <chrono>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "collectives/collectives.hpp"
#include "storage/paged_segment.hpp"
#include "tests/sim/job.hpp"

using namespace coracle;
using namespace coracle::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFrames = 64;

PagedOptions options_of(std::uint64_t pages, std::uint32_t chances, std::uint64_t frames = kFrames) {
  PagedOptions options;
  options.page_bytes = kPage;
  options.bytes = pages * kPage;
  options.cache_bytes = frames * kPage;
  options.chances = chances;
  options.model = SsdModel{1e9, 1e9, 50'000};
  return options;
}

SimJob job_of(std::uint32_t nodes, std::uint64_t seed = 1) {
  SimJob job;
  job.size = job.nodes = nodes;
  job.seed = seed;
  job.segment_bytes = 8 << 20;
  return job;
}

/// What lies at the beginning of a page.
std::uint64_t mark_of(std::uint64_t page) {
  return page * 0x9E3779B97F4A7C15ULL + 1;
}

Task<> put_mark(PagedSegment& segment, std::uint64_t page) {
  const std::uint64_t mark = mark_of(page);
  co_await segment.put(page * kPage, std::as_bytes(std::span(&mark, 1)));
}

Task<> read_mark(PagedSegment& segment, std::uint64_t page) {
  std::uint64_t mark = 0;
  co_await segment.get(page * kPage, std::as_writable_bytes(std::span(&mark, 1)));
  EXPECT(mark == mark_of(page));
}

Task<> read_marks(PagedSegment& segment, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t page = first; page < end; ++page) co_await read_mark(segment, page);
}

/// By rank 0, so that the others' caches are empty.
Task<> fill(Rank& self, PagedSegment& segment) {
  if (self.id() == 0) {
    for (std::uint64_t page = 0; page < segment.pages(); ++page) co_await put_mark(segment, page);
    co_await segment.flush();
  }
  co_await self.world().barrier();
}

Task<std::uint64_t> sum(Rank& self, std::uint64_t mine) {
  co_return co_await self.world().all_reduce(mine, std::plus<>());
}

struct Reads {
  std::vector<std::uint64_t> of_ssd;  // in each pass
  PagedCounts counts;                 // of rank 0
};

Task<> one_reads(Rank& self, PagedOptions options, Reads& reads) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await fill(self, segment);
  for (int pass = 0; pass < 4; ++pass) {
    const std::uint64_t before = co_await sum(self, segment.counts().ssd_reads);
    if (self.id() == 0) co_await read_marks(segment, 0, segment.pages());
    co_await self.world().barrier();
    const std::uint64_t after = co_await sum(self, segment.counts().ssd_reads);
    if (self.id() == 0) reads.of_ssd.push_back(after - before);
  }
  if (self.id() == 0) reads.counts = segment.counts();
  co_await segment.close();
}

Reads reads_of_one(PagedOptions options, std::uint64_t seed = 1) {
  Reads reads;
  const Outcome outcome = job_of(4, seed).run([&](Rank& self) { return one_reads(self, options, reads); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  return reads;
}

}  // namespace

TEST_CASE("last copies: one reader has the memory of idle peers") {
  for (const auto kind : {storage::EvictionKind::lru, storage::EvictionKind::arc, storage::EvictionKind::mru}) {
    for (const std::uint32_t chances : {0U, 1U, 2U}) {
      PagedOptions options = options_of(3 * kFrames, chances);
      options.eviction = kind;
      const Reads reads = reads_of_one(options);
      fmt::print("{} {}: {} {} {} {}; offered {} handed {} misses {} from peers {}\n", to_string(kind), chances, reads.of_ssd[0], reads.of_ssd[1],
                 reads.of_ssd[2], reads.of_ssd[3], reads.counts.offered, reads.counts.handed_on, reads.counts.misses, reads.counts.from_peers);
    }
  }
}
