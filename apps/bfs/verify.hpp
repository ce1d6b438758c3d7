// A graph in the memory of one rank, and what a search of it must have found.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/bfs/edge.hpp"

namespace coracle::bfs {

class MemoryGraph {
 public:
  MemoryGraph(std::uint64_t vertices, std::span<const Edge> edges, bool directed);

  std::span<const Vertex> targets(Vertex vertex) const noexcept {
    return std::span(targets_).subspan(first_[vertex], first_[vertex + 1] - first_[vertex]);
  }
  std::uint64_t vertices() const noexcept { return first_.size() - 1; }
  /// By a serial search: the level of each vertex, kUnreached where no way leads.
  std::vector<std::uint32_t> levels(Vertex root) const;

 private:
  std::vector<std::uint64_t> first_;
  std::vector<Vertex> targets_;  // of each vertex in order
};

/// Throws Error, with the vertex, unless `levels` are those of a serial search, and `parents` a tree of arcs of the
/// graph, each from one level to the next.
void check_search(const MemoryGraph& graph, Vertex root, std::span<const std::uint32_t> levels,
                  std::span<const Vertex> parents);

}  // namespace coracle::bfs
