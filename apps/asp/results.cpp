// Collectives where all need the result, gets where rank 0 does.
#include "apps/asp/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "apps/asp/dijkstra.hpp"
#include "apps/asp/random_graph.hpp"

namespace coracle::asp {
namespace {

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

[[noreturn]] void throw_mismatch(Vertex source, const Mismatch& mismatch) {
  throw Error(
      std::make_error_code(std::errc::state_not_recoverable),
      fmt::format("the distance from vertex {} to vertex {} is {}, but Dijkstra finds {}: a mistake in asp or below; "
                  "compare with one rank, and with another --place, to see where",
                  source, mismatch.target, mismatch.found, mismatch.expected));
}

}  // namespace

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

Task<Verification> verify(Rank& self, const Graph& graph, const OwnedRows& rows, std::size_t sources,
                          std::uint64_t seed) {
  const std::set<Vertex> drawn = draw_sources(graph.vertices(), sources, seed);
  std::uint32_t all_exact = 1;
  for (const Vertex source : drawn) {
    if (rows.layout().owner_of_row(source) != self.id()) continue;
    const std::vector<double> expected = dijkstra(graph, source);
    if (const auto mismatch = compare_row(graph, rows.row(source), expected)) throw_mismatch(source, *mismatch);
    if (!is_exact(graph, expected)) all_exact = 0;
  }
  all_exact = co_await self.world().all_reduce(all_exact, [](std::uint32_t a, std::uint32_t b) { return a & b; });
  co_return Verification{drawn.size(), all_exact == 1};
}

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

}  // namespace coracle::asp
