// N-chance forwarding: what becomes of pages that leave the last cache that has them, in simulated jobs.
#include "storage/last_copies.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <chrono>
#include <random>
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

/// By one rank, so that the others' caches are empty.
Task<> fill(Rank& self, PagedSegment& segment, std::uint32_t writer) {
  if (self.id() == writer) {
    for (std::uint64_t page = 0; page < segment.pages(); ++page) co_await put_mark(segment, page);
    co_await segment.flush();
  }
  co_await self.world().barrier();
}

Task<std::uint64_t> sum(Rank& self, std::uint64_t mine) {
  co_return co_await self.world().all_reduce(mine, std::plus<>());
}

Task<std::uint64_t> ssd_reads(Rank& self, PagedSegment& segment) {
  co_return co_await sum(self, segment.counts().ssd_reads);
}

struct Reads {
  std::vector<std::uint64_t> of_ssd;  // in each pass
  PagedCounts counts;                 // of rank 0
};

Task<> one_reads(Rank& self, PagedOptions options, Reads& reads) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await fill(self, segment, 0);
  for (int pass = 0; pass < 4; ++pass) {
    const std::uint64_t before = co_await ssd_reads(self, segment);
    if (self.id() == 0) co_await read_marks(segment, 0, segment.pages());
    co_await self.world().barrier();
    const std::uint64_t after = co_await ssd_reads(self, segment);
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

/// Every rank reads pages of its own at random: one and a half caches of them.
Task<> all_read(Rank& self, PagedOptions options, bool random, PagedCounts& counts) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  const std::uint64_t share = segment.pages() / self.size();
  const std::uint64_t first = self.id() * share;
  for (std::uint64_t page = first; page < first + share; ++page) co_await put_mark(segment, page);
  co_await segment.flush();
  co_await self.world().barrier();
  std::mt19937_64 numbers(self.id());
  for (std::uint64_t i = 0; i < 40 * share; ++i) co_await read_mark(segment, first + (random ? numbers() : i) % share);
  co_await self.world().barrier();
  const PagedCounts mine = segment.counts();
  const std::uint64_t reads = co_await sum(self, mine.ssd_reads);
  const std::uint64_t offered = co_await sum(self, mine.offered);
  const std::uint64_t handed_on = co_await sum(self, mine.handed_on);
  const std::uint64_t evictions = co_await sum(self, mine.evictions);
  if (self.id() == 0) {
    counts.ssd_reads = reads;
    counts.offered = offered;
    counts.handed_on = handed_on;
    counts.evictions = evictions;
  }
  co_await segment.close();
}

PagedCounts counts_of_all(PagedOptions options, bool random) {
  PagedCounts counts;
  const Outcome outcome = job_of(4).run([&](Rank& self) { return all_read(self, options, random, counts); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  return counts;
}

// --- one page's way ---

constexpr std::uint64_t kSmall = 32;  // frames

/// Pages that only one rank uses, from page 1 on.
constexpr std::uint64_t kOwnPages = 128;
std::uint64_t own_page(const Rank& self, std::uint64_t index) {
  return 1 + self.id() * kOwnPages + index;
}

Task<> read_own(Rank& self, PagedSegment& segment, std::uint64_t first, std::uint64_t count) {
  co_await read_marks(segment, own_page(self, first), own_page(self, first + count));
}

struct Way {
  std::uint32_t chances = 1;
  std::uint32_t pushes = 1;  ///< Rank 0 pushes page 0 out of its cache, then rank 1, ...
  bool uses = false;         ///< Rank 1 reads it when it has come there.
};

/// Makes all but one rank busy: page 0 has come to `holder`, where others come in for it; `next` is idle.
Task<> push_on(Rank& self, PagedSegment& segment, std::uint32_t holder, std::uint64_t& read) {
  co_await sleep_for(1100ms);
  co_await self.world().barrier();
  if (self.id() != holder && self.id() != holder + 1) co_await read_own(self, segment, read++, 1);
  co_await self.world().barrier();
  if (self.id() == holder) {
    for (int others = 0; others < 24; ++others) {
      co_await sleep_for(30ms);
      co_await read_own(self, segment, read++, 1);
    }
  }
  co_await self.world().barrier();
}

/// Gives how many pages the SSDs had to read for page 0 in the end.
Task<> go_way(Rank& self, PagedOptions options, Way way, std::uint64_t& ssd) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  for (std::uint64_t i = 0; i < kOwnPages; ++i) co_await put_mark(segment, own_page(self, i));
  if (self.id() == 0) co_await put_mark(segment, 0);
  co_await segment.flush();
  co_await self.world().barrier();
  std::uint64_t read = kSmall / 2;
  co_await read_own(self, segment, 0, read);
  for (std::uint32_t holder = 0; holder < way.pushes; ++holder) {
    if (way.uses && holder == 1 && self.id() == 1) {
      co_await read_mark(segment, 0);
      co_await read_own(self, segment, read, kSmall);
      read += kSmall;
    }
    co_await push_on(self, segment, holder, read);
    if (way.chances == 2 && way.pushes == 2) { const auto c = segment.counts(); fmt::print("after {}: rank {} offered {} handed {} in {} evictions {} misses {}\n", holder, self.id(), c.offered, c.handed_on, c.taken_in, c.evictions, c.misses); }
  }
  co_await self.world().barrier();
  const std::uint64_t before = co_await ssd_reads(self, segment);
  if (self.id() + 1 == self.size()) co_await read_mark(segment, 0);
  co_await self.world().barrier();
  const std::uint64_t after = co_await ssd_reads(self, segment);
  if (self.id() == 0) ssd = after - before;
  co_await segment.close();
}

std::uint64_t ssd_reads_after(Way way) {
  PagedOptions options = options_of(1 + 7 * kOwnPages, way.chances, kSmall);
  options.eviction = storage::EvictionKind::lru;
  options.read_ahead_pages = 0;
  std::uint64_t ssd = 99;
  const Outcome outcome = job_of(7).run([&](Rank& self) { return go_way(self, options, way, ssd); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  return ssd;
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

TEST_CASE("last copies: where all are busy nobody pays for hints") {
  for (const bool random : {false, true}) {
    for (const auto kind : {storage::EvictionKind::lru, storage::EvictionKind::arc}) {
      for (const std::uint32_t chances : {0U, 2U}) {
        PagedOptions options = options_of(6 * kFrames, chances);
        options.eviction = kind;
        const PagedCounts counts = counts_of_all(options, random);
        fmt::print("{} {} {}: ssd {} offered {} handed {} evictions {}\n", random, to_string(kind), chances,
                   counts.ssd_reads, counts.offered, counts.handed_on, counts.evictions);
      }
    }
  }
}

TEST_CASE("last copies: a page is handed on as often as it has chances") {
  for (const std::uint32_t chances : {0U, 1U, 2U, 3U})
    for (std::uint32_t pushes = 0; pushes <= 4; ++pushes) {
      const std::uint64_t ssd = ssd_reads_after({chances, pushes, false});
      fmt::print("chances {} pushes {}: {}\n", chances, pushes, ssd);
    }
  for (std::uint32_t pushes = 1; pushes <= 3; ++pushes) fmt::print("used: pushes {}: {}\n", pushes, ssd_reads_after({1, pushes, true}));
}
