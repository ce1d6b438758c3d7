// The steps in their order.
#include "apps/bfs/traversal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "apps/bfs/exchange.hpp"
#include "apps/common/agreement.hpp"
#include "apps/common/scratch_folder.hpp"
#include "apps/common/split_mix.hpp"

namespace coracle::bfs {
namespace {

double lap(Rank& self, std::uint64_t& began_ns) {
  const std::uint64_t now_ns = self.loop().exact_now_ns();
  return static_cast<double>(now_ns - std::exchange(began_ns, now_ns)) * 1e-9;
}

/// All members' blocks at the first one.
template <class T>
Task<std::vector<T>> gather_all_of(Rank& self, const Ownership& ownership, std::span<const T> mine) {
  std::vector<T> all;
  std::vector<std::size_t> counts;
  if (self.id() == 0) {
    all.resize(ownership.vertices);
    for (std::uint32_t rank = 0; rank < self.size(); ++rank) counts.push_back(ownership.count(rank));
  }
  co_await self.world().gather_v(mine, std::span(all), counts, 0);
  co_return all;
}

}  // namespace

Traversal::Traversal(Rank& self, const Options& options)
    : self_(self), options_(options), progress_(!options.quiet && self.id() == 0) {}

Task<Report> Traversal::run() {
  const ScratchFolder folder = co_await ScratchFolder::make(self_.world(), options_.scratch);
  std::uint64_t began_ns = self_.loop().exact_now_ns();
  input_ = co_await load(self_, options_, folder);
  report_.loading_s = lap(self_, began_ns);
  GraphOptions built;
  built.directed = options_.directed;
  built.memory = options_.memory;
  built.cache_bytes = options_.cache_bytes;
  built.page_bytes = options_.page_bytes;
  graph_ =
      std::make_unique<PagedGraph>(co_await PagedGraph::build(self_, *input_.source, input_.vertices, built, folder));
  report_.building_s = lap(self_, began_ns);
  const std::vector<Vertex> roots = co_await choose_roots();
  Task<> loading = options_.verify && self_.id() == 0 ? load_into_memory() : no_work();
  co_await agree_on(self_.world(), std::move(loading));
  report_.edges = input_.source->edges();
  co_await agree_on(self_.world(), input_.source->close());
  input_.source.reset();

  const PagedCounts before = graph_->targets().segment().counts();
  Search search(self_, *graph_);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    co_await search_from(search, roots[i]);
    progress_.show(i + 1, roots.size());
  }
  progress_.clear();
  co_await sum_counts(before);
  co_await agree_on(self_.world(), graph_->targets().close());
  report_.graph = describe_graph(options_);
  report_.vertices = input_.vertices;
  report_.arcs = graph_->arcs();
  report_.ranks = self_.size();
  report_.nodes = self_.nodes();
  report_.placement = to_string(self_.placement());
  report_.page_bytes = options_.page_bytes;
  report_.cache_bytes = options_.cache_bytes;
  report_.verified = options_.verify;
  co_return report_;
}

Task<std::vector<Vertex>> Traversal::choose_roots() {
  std::vector<Vertex> roots;
  if (options_.root.empty()) {
    roots = co_await draw_roots();
  } else {
    Vertex root = 0;
    Task<> finding = self_.id() == 0 ? find_root(root) : no_work();
    co_await agree_on(self_.world(), std::move(finding));
    co_await self_.world().broadcast(std::span(&root, 1), 0);
    roots.push_back(root);
  }
  co_return roots;
}

Task<> Traversal::find_root(Vertex& root) {
  root = input_.find(options_.root);
  if (root == kNoVertex)
    throw Error(Errc::bad_input,
                fmt::format("--root {}: there is no such vertex in {}; give one of its {}", options_.root,
                            describe_graph(options_), input_.names.empty() ? "numbers, which count from 0" : "names"));
  co_return;
}

// Candidates are drawn by the seed; those without arcs of their own reach nothing and are passed over.
Task<std::vector<Vertex>> Traversal::draw_roots() {
  constexpr std::size_t kBatch = 1024;
  const std::uint64_t tries = 64 * (options_.roots + kBatch);
  SplitMix64 random(SplitMix64::at(options_.seed, 2));
  std::vector<Vertex> roots;
  const std::uint64_t first = graph_->ownership().first(self_.id());
  const std::uint64_t end = graph_->ownership().first(self_.id() + 1);
  for (std::uint64_t tried = 0; tried < tries && roots.size() < options_.roots; tried += kBatch) {
    std::vector<Vertex> candidates;
    std::vector<std::uint32_t> usable;
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::uint64_t vertex = random.below(input_.vertices);
      candidates.push_back(static_cast<Vertex>(vertex));
      usable.push_back(vertex >= first && vertex < end && graph_->degree(vertex - first) > 0 ? 1 : 0);
    }
    co_await self_.world().all_reduce(usable, max_of);
    for (std::size_t i = 0; i < kBatch && roots.size() < options_.roots; ++i) {
      if (usable[i] != 0 && std::ranges::find(roots, candidates[i]) == roots.end()) roots.push_back(candidates[i]);
    }
  }
  if (roots.empty()) roots.push_back(0);  // hardly any vertex has an arc
  co_return roots;
}

Task<> Traversal::search_from(Search& search, Vertex root) {
  co_await self_.world().barrier();
  std::uint64_t began_ns = self_.loop().exact_now_ns();
  co_await search.run(root);
  Report::Found found;
  found.seconds = lap(self_, began_ns);
  const std::uint64_t first = graph_->ownership().first(self_.id());
  std::uint64_t reached = 0;
  std::uint64_t arcs = 0;
  std::uint64_t digest = 0;
  for (std::size_t i = 0; i < search.levels().size(); ++i) {
    if (search.levels()[i] == kUnreached) continue;
    ++reached;
    arcs += graph_->degree(i);
    const std::uint64_t tree = std::uint64_t{search.levels()[i]} << 32U | search.parents()[i];
    digest += SplitMix64::at(tree, first + i);
  }
  std::vector<std::uint64_t> sums = {reached, arcs, digest};
  co_await self_.world().all_reduce(sums, std::plus<>{});
  found.root = self_.id() == 0 ? input_.name(root) : "";
  found.reached = sums[0];
  found.edges = options_.directed ? sums[1] : sums[1] / 2;
  found.digest = sums[2];
  found.levels = search.level_sizes();
  report_.searches.push_back(std::move(found));
  if (options_.verify) co_await verify(search, root);
}

Task<> Traversal::load_into_memory() {
  std::vector<Edge> edges(input_.source->edges());
  co_await input_.source->read(0, std::span(edges));
  in_memory_ = std::make_unique<MemoryGraph>(input_.vertices, edges, options_.directed);
}

Task<> Traversal::verify(Search& search, Vertex root) {
  const std::vector<std::uint32_t> levels = co_await gather_all_of(self_, graph_->ownership(), search.levels());
  const std::vector<Vertex> parents = co_await gather_all_of(self_, graph_->ownership(), search.parents());
  Task<> checking = self_.id() == 0 ? check(root, levels, parents) : no_work();
  co_await agree_on(self_.world(), std::move(checking));
}

Task<> Traversal::check(Vertex root, const std::vector<std::uint32_t>& levels, const std::vector<Vertex>& parents) {
  check_search(*in_memory_, root, levels, parents);
  co_return;
}

// The ranks of a node share a cache, but in sim: they count its pages together, and each its own hits.
Task<> Traversal::sum_counts(PagedCounts before) {
  const PagedCounts after = graph_->targets().segment().counts();
  const bool speaks =
      self_.id() == 0 || self_.node() != self_.node_of(self_.id() - 1) || self_.placement() == Placement::sim;
  const std::uint64_t counted = speaks ? 1 : 0;
  std::vector<std::uint64_t> sums = {after.hits - before.hits, counted * (after.misses - before.misses),
                                     counted * (after.ssd_reads - before.ssd_reads),
                                     counted * (after.from_peers - before.from_peers),
                                     counted * (after.evictions - before.evictions)};
  co_await self_.world().all_reduce(sums, std::plus<>{});
  report_.counts.hits = sums[0];
  report_.counts.misses = sums[1];
  report_.counts.ssd_reads = sums[2];
  report_.counts.from_peers = sums[3];
  report_.counts.evictions = sums[4];
}

}  // namespace coracle::bfs
