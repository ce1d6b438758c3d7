// The serial search.
#include "apps/bfs/verify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <coracle/error.hpp>
#include "apps/bfs/search.hpp"
#include "runtime/core/assert.hpp"

namespace coracle::bfs {

MemoryGraph::MemoryGraph(std::uint64_t vertices, std::span<const Edge> edges, bool directed) : first_(vertices + 1) {
  const auto for_arcs = [edges, directed](auto take) {
    for (const Edge& edge : edges) {
      take(edge.from, edge.to);
      if (!directed) take(edge.to, edge.from);
    }
  };
  for_arcs([this](Vertex from, Vertex) { ++first_[from + 1]; });
  for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) first_[vertex + 1] += first_[vertex];
  targets_.resize(first_.back());
  std::vector<std::uint64_t> next(first_.begin(), first_.end() - 1);
  for_arcs([this, &next](Vertex from, Vertex to) { targets_[next[from]++] = to; });
  for (Vertex vertex = 0; vertex < vertices; ++vertex) {
    std::ranges::sort(std::span(targets_).subspan(first_[vertex], first_[vertex + 1] - first_[vertex]));
  }
}

std::vector<std::uint32_t> MemoryGraph::levels(Vertex root) const {
  std::vector<std::uint32_t> levels(vertices(), kUnreached);
  levels[root] = 0;
  std::vector<Vertex> queue = {root};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const Vertex target : targets(queue[head])) {
      if (levels[target] != kUnreached) continue;
      levels[target] = levels[queue[head]] + 1;
      queue.push_back(target);
    }
  }
  return levels;
}

namespace {

[[noreturn]] void fail(Vertex vertex, const std::string& what) {
  throw Error(std::make_error_code(std::errc::state_not_recoverable),
              fmt::format("vertex {}: {}: a mistake in bfs or below; compare with one rank, and with another --place, "
                          "to see where",
                          vertex, what));
}

}  // namespace

void check_search(const MemoryGraph& graph, Vertex root, std::span<const std::uint32_t> levels,
                  std::span<const Vertex> parents) {
  CORACLE_ASSERT(levels.size() == graph.vertices() && parents.size() == levels.size(), "{} levels, {} parents of {}",
                 levels.size(), parents.size(), graph.vertices());
  const std::vector<std::uint32_t> expected = graph.levels(root);
  for (Vertex vertex = 0; vertex < levels.size(); ++vertex) {
    const Vertex parent = parents[vertex];
    if (levels[vertex] != expected[vertex])
      fail(vertex, fmt::format("its level is {}, but {} by a serial search", levels[vertex], expected[vertex]));
    if (vertex == root ? parent != root : (parent == kNoVertex) != (levels[vertex] == kUnreached))
      fail(vertex, fmt::format("on level {} its parent is {}", levels[vertex], parent));
    if (vertex == root || parent == kNoVertex) continue;
    if (parent >= levels.size() || levels[parent] + 1 != levels[vertex])
      fail(vertex, fmt::format("its parent {} is not on the level before", parent));
    if (!std::ranges::binary_search(graph.targets(parent), vertex))
      fail(vertex, fmt::format("no edge leads to it from its parent {}", parent));
  }
}

}  // namespace coracle::bfs
