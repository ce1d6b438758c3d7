// Breadth-first search, level by level: every rank reads the arcs of its vertices in the frontier, many at a time, and
// tells the targets' owners. And a graph in the memory of one rank, with what a search of it must have found.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "apps/bfs/edge.hpp"
#include "apps/bfs/paged_graph.hpp"

namespace coracle::bfs {

inline constexpr std::uint32_t kUnreached = ~std::uint32_t{0};

class Search {
 public:
  /// `graph` must outlive it.
  Search(Rank& self, PagedGraph& graph);

  /// Collective; fails at all together (Agreed). May be called again.
  Task<> run(Vertex root);

  /// By own vertex. A vertex's parent is the smallest of those that it could have, so that all is the same with any
  /// number of ranks; the root is its own.
  std::span<const std::uint32_t> levels() const noexcept { return levels_; }
  std::span<const Vertex> parents() const noexcept { return parents_; }
  /// Vertices of all ranks on each level.
  const std::vector<std::uint64_t>& level_sizes() const noexcept { return level_sizes_; }

 private:
  static constexpr std::size_t kReads = 64;           // in flight
  static constexpr std::size_t kReadTargets = 4096;   // of one read
  static constexpr std::size_t kQueuedMax = 1 << 18;  // pairs for others before they are sent

  /// Reads one vertex after the other; keeps its place when the queues are full.
  struct Reader {
    Vertex vertex = 0;
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    std::vector<Vertex> targets = std::vector<Vertex>(kReadTargets);
  };

  void begin(Vertex root);
  Task<> expand();
  Task<> read(Reader& reader);
  void offer(Vertex parent, std::span<const Vertex> targets);
  void reach(Vertex vertex, Vertex parent);
  bool has_more() const noexcept;
  Task<> finish_level();

  Rank& self_;
  PagedGraph& graph_;
  Ownership ownership_;
  Vertex first_;  // own
  Vertex end_;
  std::vector<std::uint32_t> levels_;
  std::vector<Vertex> parents_;
  std::vector<std::uint64_t> level_sizes_;
  std::uint32_t level_ = 0;
  std::vector<Vertex> frontier_;
  std::vector<Vertex> next_frontier_;
  std::size_t cursor_ = 0;
  std::vector<Reader> readers_;
  std::vector<std::vector<Edge>> outgoing_;  // parent, target
  std::size_t queued_ = 0;
  std::vector<Edge> incoming_;
  // Others' vertices, a bit each, of which this rank has told in earlier levels, and in this: telling once is enough,
  // but within a level every parent must be heard of.
  std::vector<std::uint64_t> told_;
  std::vector<std::uint64_t> told_now_;
};

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
