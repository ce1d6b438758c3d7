// Hints about last copies that come late, or never, or from who knows whom.
#include "storage/pages/last_copies.hpp"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <vector>

#include "tests/storage/last_copies_job.hpp"

namespace last_copies_races_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using namespace coracle::internals::test;

namespace {

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
  const SimulationResult outcome = job_of(2).run([&](Rank& self) { return hold_one(self, options, seen, needs_room); });
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
  const SimulationResult outcome = job_of(12).run([&](Rank& self) { return look_for_idle(self, options, counts); });
  CHECK_MESSAGE(text_of(outcome) == "", text_of(outcome));
  CHECK(counts.offered > 30);
  CHECK(counts.handed_on > counts.offered * 3 / 4);
}

TEST_CASE("last copies: who does not answer is in nobody's way") {
  PagedOptions options = options_of(2 * kFrames, 1);
  options.spread = HomeSpread::one;
  std::uint64_t ssd = 99;
  PagedCounts counts;
  const SimulationResult outcome =
      job_of(4).run([&](Rank& self) { return read_beside_deaf(self, options, ssd, counts); });
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
    const SimulationResult outcome = job.run([&](Rank& self) { return close_early(self, options); });
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
    const SimulationResult outcome = job.run([&](Rank& self) { return read_while_one_dies(self, options, ssd); });
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

}  // namespace last_copies_races_test
