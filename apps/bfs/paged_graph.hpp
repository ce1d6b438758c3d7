// A graph in compressed rows whose arcs lie in a paged array; where each vertex's arcs begin is kept in memory, at the
// rank that has the vertex.
#pragma once

#include <coracle/coracle.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/bfs/edge.hpp"
#include "apps/common/out_of_core.hpp"

namespace coracle::bfs {

struct GraphOptions {
  bool directed = false;     ///< Else every edge is two arcs.
  std::uint64_t memory = 0;  ///< Bytes per rank while it is built; at least one vertex's arcs are held, though.
  std::uint64_t cache_bytes = 0;
  std::uint64_t page_bytes = 0;
};

/// Of one rank: the vertices that it owns. Loops are left out, equal edges are kept; a vertex's arcs are in order.
class PagedGraph {
 public:
  /// Collective; fails at all together (Agreed). `source` must live until it has returned.
  static Task<PagedGraph> build(Rank& self, EdgeSource& source, std::uint64_t vertices, GraphOptions options,
                                const ScratchFolder& folder);

  const Ownership& ownership() const noexcept { return ownership_; }
  /// Of all ranks.
  std::uint64_t arcs() const noexcept { return arcs_; }
  /// Of the `index`th vertex of this rank.
  std::uint64_t degree(std::uint64_t index) const noexcept { return first_arc_[index + 1] - first_arc_[index]; }
  /// Its first arc's place in targets().
  std::uint64_t first_arc(std::uint64_t index) const noexcept { return first_arc_[index]; }
  PagedArray<Vertex>& targets() noexcept { return targets_; }
  const PagedArray<Vertex>& targets() const noexcept { return targets_; }

 private:
  PagedGraph(Ownership ownership, std::uint64_t arcs, std::vector<std::uint64_t> first_arc,
             PagedArray<Vertex> targets) noexcept
      : ownership_(ownership), arcs_(arcs), first_arc_(std::move(first_arc)), targets_(std::move(targets)) {}

  Ownership ownership_;
  std::uint64_t arcs_;
  std::vector<std::uint64_t> first_arc_;  // by own vertex, and one behind the last
  PagedArray<Vertex> targets_;
};

/// How a rank's arcs are divided so that each part fits `bytes` while it is sorted: the first own vertex of each part,
/// and the number of own vertices. `first_arc`: as above.
std::vector<std::uint64_t> parts_of(std::span<const std::uint64_t> first_arc, std::uint64_t bytes);

}  // namespace coracle::bfs
