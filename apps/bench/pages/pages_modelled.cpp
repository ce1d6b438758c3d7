// What the benchmarks of pages in virtual time share, where each rank is a node.
#include <fmt/format.h>

#include "apps/bench/pages/pages.hpp"

namespace coracle::internals::bench {

PagedOptions modelled_options(const Bench& bench) {
  constexpr std::uint64_t kCacheBytes = 16 << 20;
  PagedOptions options;
  options.page_bytes = kModelledPageBytes;
  options.cache_bytes = bench.plan.quick ? kCacheBytes / 16 : kCacheBytes;
  options.model.emplace();
  options.model->latency_ns = 100'000 / 64;
  return options;
}

Row modelled_row(const Bench& bench, const ModelledRun& with, const ModelledRun& without, const char* without_name,
                 std::uint64_t operations) {
  const auto each = [operations](double ns) {
    const double value = ns / static_cast<double>(operations);
    return Figure{value, value, value};
  };
  const std::uint32_t nodes = bench.self.size();
  Row row{fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s"),
          "ns",
          each(with.ns),
          without_name,
          each(without.ns),
          0,
          {}};
  row.details = {
      {"nodes", nodes}, {"with", json_of(with.counts, operations)}, {"without", json_of(without.counts, operations)}};
  return row;
}

}  // namespace coracle::internals::bench
