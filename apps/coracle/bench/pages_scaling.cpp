// The experiments of vGASNet's paper (IPSJ HPC-160, 2017: figures 5 to 7) in virtual time, where each rank is a node.
//
// Bytes are scaled, what they take in time is kept in proportion: a page of 64 KiB stands for one of 4 MiB, and the
// latency of the SSD shrinks likewise. A cache of 16 MiB stands for one of 16 GiB, and data is counted in caches.
#include <fmt/format.h>

#include <algorithm>

#include "apps/coracle/bench/pages.hpp"
#include "collectives/collectives.hpp"

namespace coracle::bench {
namespace {

constexpr std::uint64_t kPageBytes = 64 << 10;
constexpr std::uint64_t kCacheBytes = 16 << 20;
constexpr std::uint64_t kLatencyNs = 100'000 / 64;

struct Experiment {
  bool random = false;
  HomeSpread spread = HomeSpread::one;
  std::uint64_t halves = 1;  ///< The data, in halves of a cache.
};

struct Outcome {
  double ns = 0;  ///< Until the last has ended.
  PagedCounts counts;
};

PagedOptions modelled(const Bench& bench, std::uint64_t bytes, HomeSpread spread, bool cooperative) {
  PagedOptions options;
  options.bytes = bytes;
  options.page_bytes = kPageBytes;
  options.cache_bytes = bench.plan.quick ? kCacheBytes / 16 : kCacheBytes;
  options.spread = spread;
  options.cooperative = cooperative;
  options.model.emplace();
  options.model->latency_ns = kLatencyNs;
  return options;
}

/// Every rank reads all pages once, one at a time.
Task<> read_all(Rank& self, PagedSegment& segment, bool random) {
  std::vector<std::byte> page(kPageBytes);
  PageWalk walk(0, segment.pages(), random, self.id() + 1);
  for (std::uint64_t i = 0; i < segment.pages(); ++i) {
    const std::uint64_t offset = walk.next() * kPageBytes;
    const std::span<std::byte> target(page);
    co_await segment.get(offset, target);
  }
}

/// Every rank writes a byte of its own, again and again.
Task<> share_falsely(Rank& self, PagedSegment& segment, std::uint64_t puts) {
  for (std::uint64_t i = 0; i < puts; ++i) {
    const auto mark = static_cast<std::byte>(i);
    const std::span<const std::byte> source(&mark, 1);
    co_await segment.put(self.id(), source);
  }
}

Task<Outcome> run_in(Bench& bench, PagedOptions options, Experiment what, std::uint64_t puts) {
  Rank& self = bench.self;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  co_await self.world().barrier();
  const std::uint64_t begun = self.loop().exact_now_ns();
  if (puts > 0)
    co_await share_falsely(self, segment, puts);
  else
    co_await read_all(self, segment, what.random);
  const std::uint64_t own = self.loop().exact_now_ns() - begun;
  const std::uint64_t slowest =
      co_await self.world().all_reduce(own, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
  Outcome outcome;
  outcome.ns = static_cast<double>(slowest);
  outcome.counts = co_await sum_of(self.world(), segment.counts());
  co_await segment.close();
  co_return outcome;
}

/// `operations`: of all ranks.
Row row_of(const Bench& bench, const Outcome& together, const Outcome& alone, std::uint64_t operations) {
  const auto each = [operations](double ns) {
    const double value = ns / static_cast<double>(operations);
    return Figure{value, value, value};
  };
  const std::uint32_t nodes = bench.self.size();
  Row row{fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s"),
          "ns",
          each(together.ns),
          "without cooperation",
          each(alone.ns),
          0,
          {}};
  row.details = {
      {"nodes", nodes}, {"with", json_of(together.counts, operations)}, {"without", json_of(alone.counts, operations)}};
  return row;
}

Task<> measure_reads(Bench& bench, Experiment what) {
  const std::uint64_t cache = modelled(bench, 0, what.spread, true).cache_bytes;
  const std::uint64_t bytes = what.halves * cache / 2;
  const Outcome alone = co_await run_in(bench, modelled(bench, bytes, what.spread, false), what, 0);
  const Outcome together = co_await run_in(bench, modelled(bench, bytes, what.spread, true), what, 0);
  if (!bench.keeps_time()) co_return;
  Row row = row_of(bench, together, alone, bytes / kPageBytes * bench.self.size());
  row.bytes = kPageBytes;
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
  const Outcome alone = co_await run_in(bench, modelled(bench, 4 * kPageBytes, HomeSpread::one, false), {}, puts);
  const Outcome together = co_await run_in(bench, modelled(bench, 4 * kPageBytes, HomeSpread::one, true), {}, puts);
  if (!bench.keeps_time()) co_return;
  Row row = row_of(bench, together, alone, puts * bench.self.size());
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

}  // namespace coracle::bench
