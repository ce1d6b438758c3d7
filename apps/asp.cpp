// All-pairs shortest paths on a real graph: read it, share it, relax it on all ranks, verify it, and tell what was
// found. apps/asp/solver.hpp is the heart.
#include <fmt/core.h>
#include <unistd.h>
#include <coracle/coracle.hpp>

#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "apps/asp/options.hpp"
#include "apps/asp/report.hpp"
#include "apps/asp/results.hpp"
#include "apps/asp/solver.hpp"
#include "apps/common/arrival_log.hpp"
#include "apps/common/file.hpp"
#include "apps/common/program.hpp"
#include "apps/common/progress.hpp"

namespace coracle::asp {
namespace {

// Says early what would otherwise end in the kernel's out-of-memory killer.
void check_memory(std::size_t vertices) {
  const double needed = static_cast<double>(vertices) * static_cast<double>(row_stride(vertices)) * sizeof(float);
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed <= 0.9 * there) return;
  throw Error(Errc::bad_input,
              fmt::format("the distances between {} vertices take {:.1f} GiB, and this machine has {:.1f}; "
                          "take a smaller graph, or more machines",
                          vertices, needed * 0x1p-30, there * 0x1p-30));
}

void describe_distances(const Graph& graph, const Summary& summary, std::size_t top, Report& report) {
  report.vertices = graph.vertices();
  report.arcs = graph.arcs();
  report.pairs = summary.pairs();
  report.mean_distance = summary.mean_distance();
  report.diameter = static_cast<double>(summary.diameter());
  report.diameter_source = graph.name(summary.diameter_source());
  report.diameter_target = graph.name(summary.diameter_target());
  for (const Central& central : summary.most_central(top)) {
    report.central.push_back({graph.name(central.vertex), central.closeness, central.reached_by});
  }
}

Task<> shortest_paths(Rank& self, Options options) {
  const bool leads = self.id() == 0;
  Graph graph(0, {});
  if (leads) {
    if (options.path.empty()) check_memory(options.random_vertices);
    graph = load_graph(options);
    check_memory(graph.vertices());
  }
  graph = co_await share_graph(self, std::move(graph));
  const std::size_t block = options.block > 0 ? options.block : good_block_size(graph.vertices(), self.size());
  OwnedRows rows({graph.vertices(), block, self.size()}, self.id(), graph);

  ProgressLine progress(options.shows_progress && leads);
  Solver solver(self, rows, options.broadcast,
                [&progress](std::size_t done, std::size_t all) { progress.show(done, all); });
  co_await self.world().barrier();
  const auto start = std::chrono::steady_clock::now();
  co_await solver.run();
  co_await self.world().barrier();
  const std::chrono::duration<double> total = std::chrono::steady_clock::now() - start;
  progress.clear();

  Report report;
  const Verification verified = co_await verify(self, graph, rows, options.verified_sources, options.seed);
  const Summary summary = co_await summarise(self, rows);
  co_await gather_effort(self, solver.effort(), report);
  const std::vector<double> arrivals_s = co_await gather_arrivals(self, solver.arrivals_s());
  if (!leads) co_return;

  report.graph = describe_graph(options);
  describe_distances(graph, summary, options.top, report);
  report.verified_sources = verified.sources;
  report.is_verified_exactly = verified.is_exact;
  report.ranks = self.size();
  report.placement = to_string(self.placement());
  report.block = block;
  report.broadcast = options.broadcast ? to_words(*options.broadcast) : "direct";
  std::vector<std::uint32_t> owners;
  for (std::size_t i = 0; i < rows.layout().blocks(); ++i) owners.push_back(rows.layout().owner(i));
  report.arrivals = arrivals_of(arrivals_s, owners, self.size());
  report.total_s = total.count();
  report.skipped_share = 1 - report.operations / std::pow(static_cast<double>(graph.vertices()), 3);
  report.kernel = best_min_plus_kernel().name;
  report.vector_limit = vector_limit(best_min_plus_kernel());
  fmt::print("{}", to_text(report, TextStyle::of_standard_output()));
  if (!options.json_path.empty()) write_text(to_json(report), options.json_path);
  if (!options.trace_path.empty()) write_text(arrival_trace("asp", arrivals_s, self.size()), options.trace_path);
}

}  // namespace
}  // namespace coracle::asp

int main(int argc, char** argv) {
  return coracle::start(argc, argv, coracle::asp::parse_options(argc, argv), coracle::asp::shortest_paths);
}
