// Graph500's Kronecker graphs: 2^scale vertices, most of which have few edges and some very many. Each edge follows
// from the seed and its number alone, so that any rank can make any of them.
#pragma once

#include <cstdint>

#include "apps/bfs/edge.hpp"

namespace coracle::bfs {

inline constexpr std::uint32_t kScaleMax = 31;

class Kronecker {
 public:
  /// `scale` from 1 to kScaleMax.
  Kronecker(std::uint32_t scale, std::uint64_t edge_factor, std::uint64_t seed) noexcept;

  std::uint64_t vertices() const noexcept { return std::uint64_t{1} << scale_; }
  std::uint64_t edges() const noexcept { return edge_factor_ << scale_; }
  /// Of edge `number` below edges(). Loops and equal edges occur.
  Edge edge(std::uint64_t number) const noexcept;
  /// The vertices' numbers tell nothing of their degrees: what the generator calls `vertex` is renamed, one to one.
  Vertex renamed(Vertex vertex) const noexcept;

 private:
  std::uint32_t scale_;
  std::uint64_t edge_factor_;
  std::uint64_t edge_seed_;
  std::uint64_t name_seed_;
};

}  // namespace coracle::bfs
