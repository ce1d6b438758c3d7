// The experiments of vGASNet's paper (IPSJ HPC-160, 2017: figures 5 to 7), and what N-chance forwarding gives one
// reader whose peers are idle: in virtual time, where each rank is a node.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "apps/bench/pages/pages.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

/// Of a segment on modelled SSDs. Bytes are scaled, what they take in time is kept in proportion: a page of 64 KiB
/// stands for one of 4 MiB, and the latency of the SSD shrinks likewise. A cache of 16 MiB stands for one of 16 GiB,
/// and data is counted in caches.
constexpr std::uint64_t kModelledPageBytes = 64 << 10;

PagedOptions modelled_options(const Bench& bench) {
  constexpr std::uint64_t kCacheBytes = 16 << 20;
  PagedOptions options;
  options.page_bytes = kModelledPageBytes;
  options.cache_bytes = bench.plan.quick ? kCacheBytes / 16 : kCacheBytes;
  options.model.emplace();
  options.model->latency_ns = 100'000 / 64;
  return options;
}

struct ModelledRun {
  double ns = 0;  ///< Until the last has ended.
  PagedCounts counts;
};

/// `operations`: of all ranks, in each of both runs.
Row modelled_row(const Bench& bench, const ModelledRun& with, const ModelledRun& without, const char* without_name,
                 std::uint64_t operations) {
  const auto each = [operations](double ns) { return exactly(ns / static_cast<double>(operations)); };
  const std::uint32_t nodes = bench.self.size();
  return {.name = fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s"),
          .value = each(with.ns),
          .limit_name = without_name,
          .limit = each(without.ns),
          .details = {{"nodes", nodes},
                      {"with", json_of(with.counts, operations)},
                      {"without", json_of(without.counts, operations)}}};
}

/// Reads all pages once, one at a time.
Task<> get_all(PagedSegment& segment, bool random, std::uint64_t seed) {
  std::vector<std::byte> page(segment.page_bytes());
  PageWalk walk(0, segment.pages(), random, seed);
  co_await get_pages(segment, walk, 1, segment.pages(), page.data());
}

// --- several readers of the same data ---

constexpr const char* kAlone = "without cooperation";

struct Experiment {
  bool random = false;
  HomeSpread spread = HomeSpread::one;
  std::uint64_t halves = 1;  ///< The data, in halves of a cache.
};

PagedOptions modelled(const Bench& bench, std::uint64_t bytes, HomeSpread spread, bool cooperative) {
  PagedOptions options = modelled_options(bench);
  options.bytes = bytes;
  options.spread = spread;
  options.cooperative = cooperative;
  return options;
}

/// Every rank writes a byte of its own, again and again. What it does between takes time: without that, it would have
/// done with all its puts before another could take the page away.
Task<> share_falsely(Rank& self, PagedSegment& segment, std::uint64_t puts) {
  for (std::uint64_t i = 0; i < puts; ++i) {
    const auto mark = static_cast<std::byte>(i);
    const std::span<const std::byte> source(&mark, 1);
    co_await segment.put(self.id(), source);
    co_await self.busy_for(std::chrono::microseconds(1));
  }
}

Task<ModelledRun> run_in(Bench& bench, PagedOptions options, Experiment what, std::uint64_t puts) {
  Rank& self = bench.self;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await self.world().barrier();
  const std::uint64_t begun = self.loop().exact_now_ns();
  if (puts > 0)
    co_await share_falsely(self, segment, puts);
  else
    co_await get_all(segment, what.random, self.id() + 1);
  const std::uint64_t own = self.loop().exact_now_ns() - begun;
  const std::uint64_t slowest =
      co_await self.world().all_reduce(own, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  ModelledRun outcome;
  outcome.ns = static_cast<double>(slowest);
  outcome.counts = co_await sum_of(self.world(), segment.counts());
  co_await segment.close();
  co_return outcome;
}

Task<> measure_reads(Bench& bench, Experiment what) {
  const std::uint64_t cache = modelled(bench, 0, what.spread, true).cache_bytes;
  const std::uint64_t bytes = what.halves * cache / 2;
  const ModelledRun alone = co_await run_in(bench, modelled(bench, bytes, what.spread, false), what, 0);
  const ModelledRun together = co_await run_in(bench, modelled(bench, bytes, what.spread, true), what, 0);
  if (!bench.keeps_time()) co_return;
  Row row = modelled_row(bench, together, alone, kAlone, bytes / kModelledPageBytes * bench.self.size());
  row.bytes = kModelledPageBytes;
  row.details["part"] = what.random ? "random" : "sequential";
  row.details["homes"] = what.spread == HomeSpread::one ? "one" : "cyclic";
  row.details["data_per_cache"] = static_cast<double>(what.halves) / 2;
  bench.report.add(fmt::format("Pages in virtual time: {} reads of the same data, {} x a cache, homes {}; all nodes, "
                               "each page",
                               what.random ? "random" : "sequential", static_cast<double>(what.halves) / 2,
                               what.spread == HomeSpread::one ? "on one node" : "spread"),
                   std::move(row));
}

Task<> measure_false_sharing(Bench& bench) {
  const std::uint64_t puts = bench.plan.quick ? 4 : 64;
  const ModelledRun alone =
      co_await run_in(bench, modelled(bench, 4 * kModelledPageBytes, HomeSpread::one, false), {}, puts);
  const ModelledRun together =
      co_await run_in(bench, modelled(bench, 4 * kModelledPageBytes, HomeSpread::one, true), {}, puts);
  if (!bench.keeps_time()) co_return;
  Row row = modelled_row(bench, together, alone, kAlone, puts * bench.self.size());
  row.details["part"] = "false sharing";
  bench.report.add("Pages in virtual time: puts of 1 byte into one page by all nodes, each", std::move(row));
}

}  // namespace

Task<> bench_page_scaling(Bench& bench) {
  for (const bool random : {false, true})
    for (const HomeSpread spread : {HomeSpread::one, HomeSpread::cyclic})
      for (const std::uint64_t halves : {std::uint64_t{1}, std::uint64_t{4}}) {
        const Experiment what{random, spread, halves};
        co_await measure_reads(bench, what);
      }
  co_await measure_false_sharing(bench);
}

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
