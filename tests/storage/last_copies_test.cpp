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
  co_await segment.put(page * segment.page_bytes(), std::as_bytes(std::span(&mark, 1)));
}

Task<> read_mark(PagedSegment& segment, std::uint64_t page) {
  std::uint64_t mark = 0;
  co_await segment.get(page * segment.page_bytes(), std::as_writable_bytes(std::span(&mark, 1)));
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

/// By all: each has a part of them then, and needs none of it any more.
Task<> fill_together(Rank& self, PagedSegment& segment) {
  for (std::uint64_t page = self.id(); page < segment.pages(); page += self.size()) co_await put_mark(segment, page);
  co_await segment.flush();
  co_await sleep_for(1100ms);
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
  co_await fill(self, segment);
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

/// `holder` has page 0 and reads others, until that has to go; the next rank is idle, and only that. `read`: up to
/// where a rank has read its own pages.
Task<> push_on(Rank& self, PagedSegment& segment, std::uint32_t holder, std::uint64_t& read) {
  co_await sleep_for(1100ms);
  co_await self.world().barrier();
  const bool busy = self.id() != holder && self.id() != holder + 1;
  if (busy) co_await read_own(self, segment, read, 1);
  read += busy ? 1 : 0;
  co_await self.world().barrier();
  if (self.id() == holder) {
    for (int others = 0; others < 24; ++others) {
      co_await sleep_for(30ms);
      co_await read_own(self, segment, read, 1);
      ++read;
    }
  }
  co_await self.world().barrier();
}

/// Gives how many pages the SSDs had to read when another rank wanted page 0 in the end.
Task<> go_way(Rank& self, PagedOptions options, Way way, std::uint64_t& ssd) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await fill_together(self, segment);
  if (self.id() == 0) co_await read_mark(segment, 0);
  std::uint64_t read = kSmall / 2;
  co_await read_own(self, segment, 0, read);
  for (std::uint32_t holder = 0; holder < way.pushes; ++holder) {
    if (way.uses && holder == 1 && self.id() == 1) {
      co_await read_mark(segment, 0);
      co_await read_own(self, segment, read, kSmall);
      read += kSmall;
    }
    co_await push_on(self, segment, holder, read);
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

// --- who has it ---

constexpr std::uint64_t kShared = 8;

/// Ranks 0 and 1 have the same pages, and then need the room, 0 first. Gives what the SSDs had to read when all had to.
Task<> drop_shared(Rank& self, PagedOptions options, std::uint64_t& ssd) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await fill_together(self, segment);
  for (const std::uint32_t reader : {0U, 1U}) {
    if (self.id() == reader) co_await read_marks(segment, 0, kShared);
    co_await self.world().barrier();
  }
  for (const std::uint32_t reader : {0U, 1U}) {
    const std::uint64_t others = kShared + reader * 2 * kSmall;
    if (self.id() == reader) co_await read_marks(segment, others, others + 2 * kSmall);
    co_await self.world().barrier();
  }
  const std::uint64_t before = co_await ssd_reads(self, segment);
  if (self.id() == 3) co_await read_marks(segment, 0, kShared);
  co_await self.world().barrier();
  const std::uint64_t after = co_await ssd_reads(self, segment);
  if (self.id() == 0) ssd = after - before;
  co_await segment.close();
}

// --- whose page goes ---

struct Host {
  std::uint64_t taken_in = 0;
  std::uint64_t misses_beside_guests = 0;
  std::uint64_t misses_after_guests = 0;
};

/// Rank 1 uses half a cache of pages again and again, without a miss; rank 0 has more than it can hold. Then rank 1
/// reads others in its turn.
Task<> be_host(Rank& self, PagedOptions options, Host& host) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await fill_together(self, segment);
  constexpr std::uint64_t kOwn = kSmall / 2;
  for (int times = 0; times < 3; ++times) {
    if (self.id() == 1) co_await read_marks(segment, 0, kOwn);
    co_await sleep_for(600ms);
  }
  co_await self.world().barrier();
  if (self.id() == 0) co_await read_marks(segment, kOwn, kOwn + 4 * kSmall);
  co_await self.world().barrier();
  if (self.id() == 1) {
    const PagedCounts before = segment.counts();
    co_await read_marks(segment, 0, kOwn);
    const PagedCounts beside = segment.counts();
    co_await read_marks(segment, kOwn + 4 * kSmall, segment.pages());
    const PagedCounts alone = segment.counts();
    co_await read_marks(segment, 0, kOwn);
    host = {before.taken_in, beside.misses - before.misses, segment.counts().misses - alone.misses};
  }
  co_await self.world().barrier();
  co_await segment.close();
}

/// Rank 0 reads more than both caches hold; some pages twice, that were rank 1's guests. Gives rank 1's misses of
/// these.
Task<> read_some_twice(Rank& self, PagedOptions options, std::uint64_t& misses) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await fill_together(self, segment);
  if (self.id() == 0) {
    co_await read_marks(segment, 0, 2 * kSmall);
    co_await read_marks(segment, 8, 12);
    co_await read_marks(segment, 2 * kSmall, 2 * kSmall + kSmall / 2);
  }
  co_await self.world().barrier();
  if (self.id() == 1) {
    const std::uint64_t before = segment.counts().misses;
    co_await read_marks(segment, 8, 12);
    misses = segment.counts().misses - before;
  }
  co_await self.world().barrier();
  co_await segment.close();
}

// --- who does not answer ---

/// Ranks 1 to 10 miss a page every now and then, rank 11 none; rank 0 reads others all the time.
Task<> look_for_idle(Rank& self, PagedOptions options, PagedCounts& counts) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await fill_together(self, segment);
  const PagedCounts before = segment.counts();
  for (std::uint64_t i = 0; i < 40 && self.id() + 1 < self.size(); ++i) {
    if (self.id() == 0 || i % 10 == 0) co_await read_own(self, segment, i, 1);
    co_await sleep_for(20ms);
  }
  if (self.id() == 0) {
    counts.offered = segment.counts().offered - before.offered;
    counts.handed_on = segment.counts().handed_on - before.handed_on;
  }
  co_await self.world().barrier();
  co_await segment.close();
}

/// Rank 0 reads on and on, while rank 3, idle too, computes and does not hear what it is asked. Gives what rank 0 has
/// not got from peers in the last pass before that ends.
Task<> read_beside_deaf(Rank& self, PagedOptions options, std::uint64_t& ssd, PagedCounts& counts) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await self.world().barrier();
  if (self.id() == 3) co_await self.busy_for(2s);
  if (self.id() == 0) {
    for (std::uint64_t page = 0; page < segment.pages(); ++page) co_await put_mark(segment, page);
    while (self.loop().now_ns() < 1'800'000'000) {
      const PagedCounts before = segment.counts();
      co_await read_marks(segment, 0, segment.pages());
      const PagedCounts after = segment.counts();
      ssd = after.misses - before.misses - (after.from_peers - before.from_peers);
    }
    counts = segment.counts();
  }
  co_await self.world().barrier();
  co_await segment.close();
}

struct Unanswered {
  bool rank_1_hears = false;
  bool waited = false;        ///< for the answer, when there was no other room
  std::uint64_t misses = 99;  ///< of pages that were used while the hint was on its way
};

/// Rank 0 has four frames, with two pages pinned; the hint for page 3 comes to rank 1, which does not hear it.
Task<> hold_one(Rank& self, PagedOptions options, Unanswered& seen, bool needs_room) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  for (const std::uint32_t writer : {1U, 0U}) {  // so that rank 1 has no room for rank 0's pages
    const std::uint64_t half = segment.pages() / 2;
    for (std::uint64_t i = 0; self.id() == writer && i < half; ++i) co_await put_mark(segment, writer * half + i);
    co_await segment.flush();
    co_await self.world().barrier();
  }
  co_await sleep_for(1100ms);
  co_await self.world().barrier();
  if (self.id() == 1) {
    co_await self.busy_for(50ms);
    seen.rank_1_hears = true;
  } else {
    co_await read_marks(segment, 4, 6);
    const std::uint64_t offered = segment.counts().offered;
    const PinnedPage first = co_await segment.pin(0);
    const PinnedPage second = co_await segment.pin(1);
    co_await read_marks(segment, 2, 5);
    EXPECT(segment.counts().offered == offered + 1);  // page 3
    if (needs_room) {
      const PinnedPage third = co_await segment.pin(4);
      co_await read_mark(segment, 5);
      seen.waited = seen.rank_1_hears;
    } else {
      co_await read_mark(segment, 3);
      co_await sleep_for(60ms);
      const std::uint64_t before = segment.counts().misses;
      co_await read_mark(segment, 3);
      seen.misses = segment.counts().misses - before;
    }
  }
  co_await self.world().barrier();
  co_await segment.close();
}

Unanswered hint_unanswered(bool needs_room) {
  PagedOptions options = options_of(12, 1, 4);
  options.spread = HomeSpread::one;
  options.eviction = storage::EvictionKind::lru;
  options.read_ahead_pages = 0;
  Unanswered seen;
  const Outcome outcome = job_of(2).run([&](Rank& self) { return hold_one(self, options, seen, needs_room); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  return seen;
}

// --- who closes ---

/// One segment after the other, whose caches lie in the same memory.
Task<> close_early(Rank& self, PagedOptions options) {
  for (int round = 0; round < 6; ++round) {
    PagedSegment segment = co_await PagedSegment::create(self.world(), options);
    co_await fill(self, segment);
    if (self.id() == 0) co_await read_marks(segment, 0, segment.pages() / 2);
    if (self.id() == 0) segment.prefetch(segment.bytes() / 2, segment.bytes() / 2);
    co_await segment.close();
  }
}

// --- who dies ---

/// Rank 0 reads on and on, while rank 3 dies.
Task<> read_while_one_dies(Rank& self, PagedOptions options, std::vector<std::uint64_t>& misses_of_ssd) {
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await fill(self, segment);
  for (int pass = 0; self.id() == 0 && pass < 6; ++pass) {
    const PagedCounts before = segment.counts();
    co_await read_marks(segment, 0, segment.pages());
    const PagedCounts after = segment.counts();
    misses_of_ssd.push_back(after.misses - before.misses - (after.from_peers - before.from_peers));
  }
  co_await sleep_for(1s);
}

}  // namespace

TEST_CASE("last copies: one reader has the memory of idle peers") {
  for (const auto kind : {storage::EvictionKind::lru, storage::EvictionKind::arc}) {
    for (const HomeSpread spread : {HomeSpread::cyclic, HomeSpread::one}) {
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        CAPTURE(to_string(kind));
        PagedOptions options = options_of(3 * kFrames, 0);
        options.eviction = kind;
        options.spread = spread;
        const Reads without = reads_of_one(options, seed);
        options.chances = 2;
        const Reads with = reads_of_one(options, seed);
        CHECK(without.counts.offered == 0);
        CHECK(with.of_ssd[1] < without.of_ssd[1] / 4);
        CHECK(with.of_ssd[2] < without.of_ssd[2] / 8);
        CHECK(with.counts.handed_on > 2 * kFrames);
        // Pages that came from peers, and are still there, are not offered again.
        CHECK(with.counts.offered < 2 * 3 * kFrames);
      }
    }
  }
}

TEST_CASE("last copies: where all are busy nobody pays for hints") {
  for (const bool random : {false, true}) {
    for (const auto kind : {storage::EvictionKind::lru, storage::EvictionKind::arc}) {
      PagedOptions options = options_of(6 * kFrames, 0);
      options.eviction = kind;
      const PagedCounts without = counts_of_all(options, random);
      options.chances = 2;
      const PagedCounts with = counts_of_all(options, random);
      CAPTURE(random);
      CAPTURE(to_string(kind));
      CHECK(with.offered < with.evictions / 100);
      CHECK(with.handed_on <= with.offered);
      CHECK(with.ssd_reads < without.ssd_reads + without.ssd_reads / 50);
    }
  }
}

TEST_CASE("last copies: a page is handed on as often as it has chances") {
  for (const std::uint32_t chances : {0U, 1U, 2U, 3U}) {
    for (std::uint32_t pushes = 0; pushes <= 4; ++pushes) {
      CAPTURE(chances);
      CAPTURE(pushes);
      CHECK(ssd_reads_after({chances, pushes, false}) == (pushes <= chances ? 0 : 1));
    }
  }
}

TEST_CASE("last copies: a use gives a page its chances back") {
  CHECK(ssd_reads_after({1, 1, true}) == 0);
  CHECK(ssd_reads_after({1, 2, true}) == 0);
  CHECK(ssd_reads_after({1, 3, true}) == 1);
}

TEST_CASE("last copies: the last of two copies is handed on") {
  PagedOptions options = options_of(kShared + 4 * kSmall, 1, kSmall);
  options.eviction = storage::EvictionKind::lru;
  options.read_ahead_pages = 0;
  std::uint64_t ssd = 99;
  const Outcome outcome = job_of(4).run([&](Rank& self) { return drop_shared(self, options, ssd); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  CHECK(ssd == 0);
}

TEST_CASE("last copies: guests go before a host's own pages") {
  PagedOptions options = options_of(5 * kSmall, 1, kSmall);  // the last half of a cache for rank 1
  options.eviction = storage::EvictionKind::lru;
  options.read_ahead_pages = 0;
  Host host;
  const Outcome outcome = job_of(4).run([&](Rank& self) { return be_host(self, options, host); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  CHECK(host.taken_in > kSmall / 2);  // more than had room at once
  CHECK(host.misses_beside_guests == 0);
  CHECK(host.misses_after_guests == 0);
}

TEST_CASE("last copies: guests that were of use stay longer") {
  PagedOptions options = options_of(4 * kSmall, 1, kSmall);
  options.eviction = storage::EvictionKind::lru;
  options.read_ahead_pages = 0;
  std::uint64_t misses = 99;
  const Outcome outcome = job_of(2).run([&](Rank& self) { return read_some_twice(self, options, misses); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  CHECK(misses == 0);
}

TEST_CASE("last copies: nobody waits for a hint") {
  CHECK(!hint_unanswered(true).waited);
}

TEST_CASE("last copies: a page that is used while its hint is on its way stays") {
  CHECK(hint_unanswered(false).misses == 0);
}

TEST_CASE("last copies: the one idle cache among many is found") {
  PagedOptions options = options_of(1 + 12 * kOwnPages, 1, kSmall);
  options.read_ahead_pages = 0;
  PagedCounts counts;
  const Outcome outcome = job_of(12).run([&](Rank& self) { return look_for_idle(self, options, counts); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  CHECK(counts.offered > 30);
  CHECK(counts.handed_on > counts.offered * 3 / 4);
}

TEST_CASE("last copies: who does not answer is in nobody's way") {
  PagedOptions options = options_of(2 * kFrames, 1);
  options.spread = HomeSpread::one;
  std::uint64_t ssd = 99;
  PagedCounts counts;
  const Outcome outcome = job_of(4).run([&](Rank& self) { return read_beside_deaf(self, options, ssd, counts); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  CHECK(counts.offered < counts.handed_on + 20);  // it is not asked again and again
  CHECK(ssd < kFrames / 8);
}

TEST_CASE("last copies: segments may be closed while hints are on their way") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    PagedOptions options = options_of(24, 2);
    options.page_bytes = 32 << 10;
    options.bytes = 24 * options.page_bytes;
    options.cache_bytes = 8 * options.page_bytes;
    SimJob job = job_of(4, seed);
    job.model.jitter_ns = 100'000;
    const Outcome outcome = job.run([&](Rank& self) { return close_early(self, options); });
    REQUIRE_MESSAGE(text_of(outcome) == "", text_of(outcome));
  }
}

TEST_CASE("last copies: hints that die with a rank stop nothing") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    PagedOptions options = options_of(2 * kFrames, 2);
    options.spread = HomeSpread::one;
    SimJob job = job_of(4, seed);
    job.survive = true;
    job.faults = parse_faults(fmt::format("{} us kill rank 3\n", 25'000 + 100 * seed), "test", job.shape());
    std::vector<std::uint64_t> ssd;
    const Outcome outcome = job.run([&](Rank& self) { return read_while_one_dies(self, options, ssd); });
    REQUIRE_MESSAGE(text_of(outcome) == "", text_of(outcome));
    REQUIRE(ssd.size() == 6);
    CHECK(ssd[0] > kFrames / 4);
    CHECK(ssd[5] < kFrames / 8);
  }
}

TEST_CASE("last copies: of what comes from a peer only what a cache can have sent is a hint") {
  using storage::LastCopyHint;
  LastCopyHint hint;
  hint.kind = LastCopyHint::Kind::declined;
  hint.chances = 3;
  hint.asked = 2;
  hint.page = 1'000'000'000'007;
  hint.leaves = 5;
  hint.from = 6;
  const LastCopyHint::Words words = hint.words(77);
  CHECK(LastCopyHint::segment_of(words.kind) == 77);
  const auto back = LastCopyHint::of(words, hint.page + 1, 7);
  REQUIRE(back.has_value());
  CHECK(back->kind == hint.kind);
  CHECK(back->chances == 3);
  CHECK(back->asked == 2);
  CHECK(back->page == hint.page);
  CHECK(back->leaves == 5);
  CHECK(back->from == 6);
  CHECK(!LastCopyHint::of(words, hint.page, 7));
  CHECK(!LastCopyHint::of(words, hint.page + 1, 6));
  CHECK(!LastCopyHint::of({words.kind | 0x700000000, words.page, words.nodes}, hint.page + 1, 7));
  for (const std::uint8_t chances : {std::uint8_t{0}, std::uint8_t{16}}) {
    hint.chances = chances;
    CHECK(!LastCopyHint::of(hint.words(77), hint.page + 1, 7));
  }
  hint.chances = 1;
  hint.leaves = 7;
  CHECK(!LastCopyHint::of(hint.words(77), hint.page + 1, 7));
}
