// Dijkstra with a binary heap; entries that a shorter way has overtaken are dropped when they surface.
#include "apps/asp/dijkstra.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::asp {
namespace {

constexpr double kExactMax = 16777216;  // 2^24: up to here every whole number is a float

bool is_exact_distance(const Graph& graph, double distance) {
  return std::isinf(distance) || (graph.has_whole_weights() && distance <= kExactMax);
}

}  // namespace

std::vector<double> dijkstra(const Graph& graph, Vertex source) {
  CORACLE_ASSERT(source < graph.vertices(), "source {} in a graph of {} vertices", source, graph.vertices());
  using Entry = std::pair<double, Vertex>;
  std::vector<double> distances(graph.vertices(), std::numeric_limits<double>::infinity());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> frontier;
  distances[source] = 0;
  frontier.emplace(0.0, source);
  while (!frontier.empty()) {
    const auto [distance, vertex] = frontier.top();
    frontier.pop();
    if (distance > distances[vertex]) continue;
    const std::span<const Vertex> targets = graph.targets(vertex);
    const std::span<const float> weights = graph.weights(vertex);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const double through = distance + static_cast<double>(weights[i]);
      if (through >= distances[targets[i]]) continue;
      distances[targets[i]] = through;
      frontier.emplace(through, targets[i]);
    }
  }
  return distances;
}

std::optional<Mismatch> compare_row(const Graph& graph, std::span<const float> row, std::span<const double> expected) {
  CORACLE_ASSERT(row.size() >= expected.size(), "a row of {} beside {}", row.size(), expected.size());
  const double relative = static_cast<double>(graph.vertices()) * 0x1p-24;
  for (std::size_t j = 0; j < expected.size(); ++j) {
    const auto found = static_cast<double>(row[j]);
    const bool agrees = is_exact_distance(graph, expected[j]) ? found == expected[j]
                                                              : std::abs(found - expected[j]) <= relative * expected[j];
    if (!agrees) return Mismatch{static_cast<Vertex>(j), row[j], expected[j]};
  }
  return std::nullopt;
}

bool is_exact(const Graph& graph, std::span<const double> expected) {
  return std::all_of(expected.begin(), expected.end(), [&](double d) { return is_exact_distance(graph, d); });
}

}  // namespace coracle::asp
