// Vertices and edges of graphs whose edges fit no memory.
#pragma once

#include <cstdint>

namespace coracle::bfs {

using Vertex = std::uint32_t;

inline constexpr Vertex kNoVertex = ~Vertex{0};

struct Edge {
  Vertex from;
  Vertex to;
  bool operator==(const Edge&) const = default;
};

/// Which rank has which vertices: equally many each, but for the last.
struct Ownership {
  std::uint64_t vertices = 0;
  std::uint32_t ranks = 1;

  std::uint64_t each() const noexcept { return (vertices + ranks - 1) / ranks; }
  std::uint32_t owner(Vertex vertex) const noexcept { return static_cast<std::uint32_t>(vertex / each()); }
  /// The first vertex of a rank; of rank `ranks`: the end.
  std::uint64_t first(std::uint32_t rank) const noexcept { return each() * rank < vertices ? each() * rank : vertices; }
  std::uint64_t count(std::uint32_t rank) const noexcept { return first(rank + 1) - first(rank); }
};

}  // namespace coracle::bfs
