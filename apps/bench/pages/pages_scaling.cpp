// The experiments of vGASNet's paper (IPSJ HPC-160, 2017: figures 5 to 7) in virtual time, where each rank is a node.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "apps/bench/pages/pages.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

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

/// Every rank reads all pages once, one at a time.
Task<> read_all(Rank& self, PagedSegment& segment, bool random) {
  std::vector<std::byte> page(kModelledPageBytes);
  PageWalk walk(0, segment.pages(), random, self.id() + 1);
  for (std::uint64_t i = 0; i < segment.pages(); ++i) {
    const std::uint64_t offset = walk.next() * kModelledPageBytes;
    const std::span<std::byte> target(page);
    co_await segment.get(offset, target);
  }
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
    co_await read_all(self, segment, what.random);
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

}  // namespace coracle::internals::bench
