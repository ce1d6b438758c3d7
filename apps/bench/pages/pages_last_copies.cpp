// What N-chance forwarding gives one reader whose peers are idle, in virtual time: as pages_scaling, and scaled like
// it.
#include <fmt/format.h>

#include "apps/bench/pages/pages.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

constexpr int kPasses = 3;
constexpr std::uint64_t kCachesOfData = 3;

PagedOptions options_of(const Bench& bench, std::uint32_t chances) {
  PagedOptions options = modelled_options(bench);
  options.bytes = kCachesOfData * options.cache_bytes;
  options.chances = chances;
  return options;
}

Task<> put_all(PagedSegment& segment) {
  const std::vector<std::byte> page(segment.page_bytes(), std::byte{0x5a});
  for (std::uint64_t offset = 0; offset < segment.bytes(); offset += page.size()) {
    const std::span<const std::byte> source(page);
    co_await segment.put(offset, source);
  }
  co_await segment.flush();
}

Task<> get_all(PagedSegment& segment, bool random, std::uint64_t seed) {
  std::vector<std::byte> page(segment.page_bytes());
  PageWalk walk(0, segment.pages(), random, seed);
  for (std::uint64_t i = 0; i < segment.pages(); ++i) {
    const std::uint64_t offset = walk.next() * page.size();
    const std::span<std::byte> target(page);
    co_await segment.get(offset, target);
  }
}

/// Rank 0 writes all pages, reads them once, and then is measured.
Task<ModelledRun> run_in(Bench& bench, PagedOptions options, bool random) {
  Rank& self = bench.self;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  if (self.id() == 0) {
    co_await put_all(segment);
    co_await get_all(segment, random, 1);
  }
  co_await self.world().barrier();
  const PagedCounts before = co_await sum_of(self.world(), segment.counts());
  const std::uint64_t begun = self.loop().exact_now_ns();
  for (std::uint64_t pass = 0; self.id() == 0 && pass < kPasses; ++pass) co_await get_all(segment, random, 2 + pass);
  ModelledRun outcome;
  outcome.ns = static_cast<double>(self.loop().exact_now_ns() - begun);
  co_await self.world().barrier();
  outcome.counts = since(before, co_await sum_of(self.world(), segment.counts()));
  co_await segment.close();
  co_return outcome;
}

}  // namespace

Task<> bench_page_last_copies(Bench& bench) {
  const std::uint32_t nodes = bench.self.size();
  if (nodes <= kCachesOfData) co_return;  // the data would not fit into all caches
  for (const bool random : {false, true}) {
    const PagedOptions without = options_of(bench, 0);
    const ModelledRun dropped = co_await run_in(bench, without, random);
    const PagedOptions with = options_of(bench, 2);
    const ModelledRun handed_on = co_await run_in(bench, with, random);
    if (!bench.keeps_time()) continue;
    const std::uint64_t operations = kPasses * without.bytes / without.page_bytes;
    Row row = modelled_row(bench, handed_on, dropped, "without chances", operations);
    row.bytes = static_cast<double>(without.page_bytes);
    row.details["part"] = "last copies";
    row.details["order"] = random ? "random" : "sequential";
    bench.report.add(fmt::format("Pages in virtual time: one node reads {} x a cache again and again, {}; each page",
                                 kCachesOfData, random ? "at random" : "in order"),
                     std::move(row));
  }
}

}  // namespace coracle::internals::bench
