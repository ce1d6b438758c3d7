// N-chance forwarding: what becomes of pages that leave the last cache that has them, in simulated jobs.
#include "storage/pages/last_copies.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <random>
#include <vector>

#include "tests/storage/last_copies_job.hpp"

namespace last_copies_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using namespace coracle::internals::test;

namespace {

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
  const SimulationResult outcome = job_of(4, seed).run([&](Rank& self) { return one_reads(self, options, reads); });
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
  const SimulationResult outcome = job_of(4).run([&](Rank& self) { return all_read(self, options, random, counts); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  return counts;
}

// --- one page's way ---

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
  const SimulationResult outcome = job_of(7).run([&](Rank& self) { return go_way(self, options, way, ssd); });
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
  const SimulationResult outcome = job_of(4).run([&](Rank& self) { return drop_shared(self, options, ssd); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  CHECK(ssd == 0);
}

TEST_CASE("last copies: guests go before a host's own pages") {
  PagedOptions options = options_of(5 * kSmall, 1, kSmall);  // the last half of a cache for rank 1
  options.eviction = storage::EvictionKind::lru;
  options.read_ahead_pages = 0;
  Host host;
  const SimulationResult outcome = job_of(4).run([&](Rank& self) { return be_host(self, options, host); });
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
  const SimulationResult outcome = job_of(2).run([&](Rank& self) { return read_some_twice(self, options, misses); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  CHECK(misses == 0);
}

}  // namespace last_copies_test
