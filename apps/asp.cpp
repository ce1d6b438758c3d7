// All-pairs shortest paths on a real graph: read it, share it, relax it on all ranks, verify it, and tell what was
// found. apps/asp/solver.hpp is the heart.
#include <fmt/core.h>
#include <fmt/format.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "apps/asp/graph.hpp"
#include "apps/asp/solver.hpp"
#include "apps/asp/summary.hpp"
#include "apps/asp/user_interface.hpp"
#include "apps/common/file.hpp"
#include "apps/common/program.hpp"

namespace coracle::asp {
namespace {

struct Verification {
  std::size_t sources = 0;
  bool is_exact = true;
};

// A graph in rank 0's segment, where all can get it.
struct SharedGraph {
  std::uint64_t vertices = 0;
  std::uint64_t arc_count = 0;
  Remote<Arc> arcs;
};

std::set<Vertex> draw_sources(std::size_t vertices, std::size_t count, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::set<Vertex> sources;
  while (sources.size() < std::min(count, vertices)) sources.insert(static_cast<Vertex>(random.below(vertices)));
  return sources;
}

/// Collective. Rank 0's `graph`, for all, though without names elsewhere; the others' arguments are not looked at.
Task<Graph> share_graph(Rank& self, Graph graph) {
  SharedGraph shared;
  Slab<Arc> offered;
  if (self.id() == 0) {
    const std::vector<Arc> arcs = graph.arc_list();
    offered = self.allocate<Arc>(arcs.size());
    std::ranges::copy(arcs, offered.data());
    shared = SharedGraph{graph.vertices(), arcs.size(), offered.remote()};
  }
  co_await self.world().broadcast(std::span(&shared, 1), 0);
  std::vector<Arc> arcs(self.id() == 0 ? 0 : shared.arc_count);
  if (!arcs.empty()) co_await self.get(shared.arcs, arcs);
  co_await self.world().barrier();  // rank 0 keeps the arcs until all have them
  if (self.id() == 0) co_return graph;
  co_return Graph(shared.vertices, arcs);
}

/// Collective. Compares up to `sources` rows, drawn by `seed`, with Dijkstra's; each rank its own rows. Throws Error
/// where they differ.
Task<Verification> verify(Rank& self, const Graph& graph, const OwnedRows& rows, std::size_t sources,
                          std::uint64_t seed) {
  const std::set<Vertex> drawn = draw_sources(graph.vertices(), sources, seed);
  std::uint32_t all_exact = 1;
  for (const Vertex source : drawn) {
    if (rows.layout().owner_of_row(source) != self.id()) continue;
    const std::vector<double> expected = dijkstra(graph, source);
    if (const auto mismatch = compare_row(graph, rows.row(source), expected))
      throw_mistake("asp", fmt::format("the distance from vertex {} to vertex {} is {}, but Dijkstra finds {}", source,
                                       mismatch->target, mismatch->found, mismatch->expected));
    if (!is_exact(graph, expected)) all_exact = 0;
  }
  all_exact = co_await self.world().all_reduce(all_exact, [](std::uint32_t a, std::uint32_t b) { return a & b; });
  co_return Verification{drawn.size(), all_exact == 1};
}

/// Collective. The summary of all rows; complete on rank 0 only.
Task<Summary> summarise(Rank& self, const OwnedRows& rows) {
  const BlockLayout& layout = rows.layout();
  Summary summary(layout.vertices);
  for (std::size_t block = rows.first_block(); block < layout.blocks(); block += layout.ranks) {
    for (std::size_t i = 0; i < layout.row_count(block); ++i) {
      const std::size_t vertex = layout.first_row(block) + i;
      summary.add_row(static_cast<Vertex>(vertex), rows.row(vertex));
    }
  }
  auto packed = self.allocate<double>(Summary::packed_size(layout.vertices));
  std::ranges::copy(summary.pack(), packed.data());
  const auto all = co_await self.world().gather_all(packed.remote());
  if (self.id() == 0) {
    std::vector<double> theirs(packed.size());
    for (std::uint32_t peer = 1; peer < self.size(); ++peer) {
      co_await self.get(all[peer], theirs);
      summary.merge(Summary::unpack(theirs));
    }
  }
  co_await self.world().barrier();  // nobody frees what rank 0 still reads
  co_return summary;
}

/// Collective. Of all ranks' arrivals, iteration by iteration, at rank 0; elsewhere nothing.
Task<std::vector<double>> gather_arrivals(Rank& self, const std::vector<double>& arrivals_s) {
  const bool leads = self.id() == 0;
  const std::size_t iterations = arrivals_s.size();
  std::vector<double> by_rank(leads ? iterations * self.size() : 0);
  co_await self.world().gather(std::span(arrivals_s), std::span(by_rank), 0);
  std::vector<double> by_iteration(by_rank.size());
  for (std::size_t i = 0; leads && i < by_rank.size(); ++i)
    by_iteration[i % iterations * self.size() + i / iterations] = by_rank[i];
  co_return by_iteration;
}

/// Collective. Fills the times and rates of `report`.
Task<> gather_effort(Rank& self, Effort effort, Report& report) {
  const std::vector<Effort> efforts = co_await self.world().gather_all(effort);
  std::vector<double> computing;
  std::vector<double> waiting;
  double cpu_s = 0;
  for (const Effort& each : efforts) {
    computing.push_back(each.computing_s);
    waiting.push_back(each.waiting_s);
    report.operations += each.operations;
    cpu_s += each.computing_cpu_s;
  }
  report.computing_s = spread_of(computing);
  report.waiting_s = spread_of(waiting);
  report.kernel_rate = cpu_s > 0 ? report.operations / cpu_s : 0;
}

void check_distances(std::size_t vertices) {
  check_memory(static_cast<double>(vertices) * static_cast<double>(row_stride(vertices)) * sizeof(float),
               fmt::format("the distances between {} vertices take", vertices), "graph");
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
    if (options.path.empty()) check_distances(options.random_vertices);
    graph = load_graph(options);
    check_distances(graph.vertices());
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
  if (!options.json_path.empty()) write_whole(to_json(report), options.json_path);
  if (!options.trace_path.empty()) write_whole(arrival_trace("asp", arrivals_s, self.size()), options.trace_path);
}

}  // namespace

}  // namespace coracle::asp

int main(int argc, char** argv) {
  return coracle::start(argc, argv, coracle::asp::parse_options(argc, argv), coracle::asp::shortest_paths);
}
