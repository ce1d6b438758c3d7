// Builds the compressed rows by counting sort, and draws random arcs. Dijkstra's is with a binary heap; entries that a
// shorter way has overtaken are dropped when they surface.
#include "apps/asp/graph.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "runtime/core/assert.hpp"

namespace coracle::asp {

Graph::Graph(std::size_t vertices, std::span<const Arc> arcs, std::vector<std::string> names, std::size_t first_number)
    : first_arc_(vertices + 1),
      targets_(arcs.size()),
      weights_(arcs.size()),
      names_(std::move(names)),
      first_number_(first_number) {
  CORACLE_ASSERT(names_.empty() || names_.size() == vertices, "{} names for {} vertices", names_.size(), vertices);
  for (const Arc& arc : arcs) {
    CORACLE_ASSERT(arc.source < vertices && arc.target < vertices, "arc {} -> {} in a graph of {} vertices", arc.source,
                   arc.target, vertices);
    CORACLE_ASSERT(arc.weight >= 0 && arc.weight <= kWeightMax, "arc {} -> {} weighs {}", arc.source, arc.target,
                   arc.weight);
    ++first_arc_[arc.source + 1];
    has_whole_weights_ = has_whole_weights_ && std::trunc(arc.weight) == arc.weight;
  }
  for (std::size_t v = 0; v < vertices; ++v) first_arc_[v + 1] += first_arc_[v];
  std::vector<std::size_t> next(first_arc_.begin(), first_arc_.end() - 1);
  for (const Arc& arc : arcs) {
    const std::size_t place = next[arc.source]++;
    targets_[place] = arc.target;
    weights_[place] = arc.weight;
  }
}

std::span<const Vertex> Graph::targets(Vertex vertex) const noexcept {
  return std::span(targets_).subspan(first_arc_[vertex], first_arc_[vertex + 1] - first_arc_[vertex]);
}

std::span<const float> Graph::weights(Vertex vertex) const noexcept {
  return std::span(weights_).subspan(first_arc_[vertex], first_arc_[vertex + 1] - first_arc_[vertex]);
}

std::string Graph::name(Vertex vertex) const {
  return names_.empty() ? std::to_string(vertex + first_number_) : names_[vertex];
}

std::vector<Arc> Graph::arc_list() const {
  std::vector<Arc> list;
  list.reserve(arcs());
  for (Vertex v = 0; v < vertices(); ++v) {
    for (std::size_t i = first_arc_[v]; i < first_arc_[v + 1]; ++i) list.push_back({v, targets_[i], weights_[i]});
  }
  return list;
}

Graph Graph::undirected() const {
  std::vector<Arc> both = arc_list();
  const std::size_t count = both.size();
  both.reserve(2 * count);
  for (std::size_t i = 0; i < count; ++i) both.push_back({both[i].target, both[i].source, both[i].weight});
  return Graph(vertices(), both, names_, first_number_);
}

void Graph::fill_row(Vertex vertex, std::span<float> row) const {
  CORACLE_ASSERT(row.size() >= vertices(), "a row of {} for {} vertices", row.size(), vertices());
  std::fill(row.begin(), row.end(), kUnreachable);
  for (std::size_t i = first_arc_[vertex]; i < first_arc_[vertex + 1]; ++i) {
    row[targets_[i]] = std::min(row[targets_[i]], weights_[i]);
  }
  row[vertex] = 0;
}

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
