// Draws the arcs.
#include "apps/asp/random_graph.hpp"

namespace coracle::asp {

Graph random_graph(std::size_t vertices, std::size_t degree, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<Arc> arcs;
  arcs.reserve(vertices * degree);
  for (std::size_t v = 0; v < vertices; ++v) {
    for (std::size_t i = 0; i < degree; ++i) {
      const auto target = static_cast<Vertex>(random.below(vertices));
      const auto weight = static_cast<float>(1 + random.below(100));
      arcs.push_back({static_cast<Vertex>(v), target, weight});
    }
  }
  return Graph(vertices, arcs);
}

}  // namespace coracle::asp
