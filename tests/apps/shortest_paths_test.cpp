// Floyd-Warshall in float and Dijkstra in double agree as far as compare_row claims, and not where they must not.
#include <doctest/doctest.h>

#include <ostream>
#include <vector>

#include "apps/asp/graph.hpp"
#include "apps/asp/min_plus.hpp"

namespace coracle::asp::shortest_paths_test {

namespace {

std::vector<float> all_pairs(const Graph& graph) {
  const std::size_t n = graph.vertices();
  const std::size_t stride = row_stride(n);
  std::vector<float> d(n * stride);
  for (Vertex v = 0; v < n; ++v) graph.fill_row(v, std::span(d).subspan(v * stride, stride));
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        d[i * stride + j] = std::min(d[i * stride + j], d[i * stride + k] + d[k * stride + j]);
      }
    }
  }
  return d;
}

bool agrees(const Graph& graph, const std::vector<float>& matrix) {
  const std::size_t stride = row_stride(graph.vertices());
  for (Vertex v = 0; v < graph.vertices(); ++v) {
    if (compare_row(graph, std::span(matrix).subspan(v * stride, stride), dijkstra(graph, v))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("shortest paths: a diamond takes the lighter side, and the way back does not exist") {
  const std::vector<Arc> arcs = {{0, 1, 1}, {1, 3, 5}, {0, 2, 2}, {2, 3, 2}, {0, 3, 9}, {3, 3, 4}};
  const std::vector<double> distances = dijkstra(Graph(5, arcs), 0);
  CHECK(distances == std::vector<double>{0, 1, 2, 4, std::numeric_limits<double>::infinity()});
}

TEST_CASE("shortest paths: whole weights agree exactly, for many seeds") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Graph graph = random_graph(40 + seed, 1 + seed % 4, seed);
    INFO("seed ", seed);
    CHECK(is_exact(graph, dijkstra(graph, 0)));
    CHECK(agrees(graph, all_pairs(graph)));
  }
}

TEST_CASE("shortest paths: fractional weights agree within the stated bound, for many seeds") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SplitMix64 random(seed);
    std::vector<Arc> arcs = random_graph(60, 2, seed).arc_list();
    for (Arc& arc : arcs) arc.weight = static_cast<float>(random.below(1 << 24)) * 1e-7F;
    const Graph graph(60, arcs);
    INFO("seed ", seed);
    CHECK_FALSE(is_exact(graph, dijkstra(graph, 0)));
    CHECK(agrees(graph, all_pairs(graph)));
  }
}

TEST_CASE("shortest paths: one wrong entry is found and named") {
  const Graph graph = random_graph(50, 3, 5);
  std::vector<float> matrix = all_pairs(graph);
  matrix[17] += 1;
  const Mismatch mismatch = compare_row(graph, matrix, dijkstra(graph, 0)).value_or(Mismatch{0, 0, 0});
  CHECK(mismatch.target == 17);
  CHECK(static_cast<double>(mismatch.found) == mismatch.expected + 1);
}

TEST_CASE("shortest paths: reachable where nothing leads, or the reverse, is a mismatch") {
  const std::vector<Arc> arcs = {{0, 1, 0.5F}};
  const Graph graph(3, arcs);
  const std::vector<double> expected = dijkstra(graph, 0);
  CHECK(compare_row(graph, std::vector<float>{0, 0.5F, 7}, expected)->target == 2);
  CHECK(compare_row(graph, std::vector<float>{0, kUnreachable, kUnreachable}, expected)->target == 1);
  CHECK_FALSE(compare_row(graph, std::vector<float>{0, 0.5F, kUnreachable}, expected));
}

TEST_CASE("shortest paths: the same seed draws the same graph, another seed another") {
  const auto weights_of = [](const Graph& graph) {
    std::vector<float> weights;
    for (const Arc& arc : graph.arc_list()) weights.push_back(arc.weight + 1000.0F * static_cast<float>(arc.target));
    return weights;
  };
  CHECK(weights_of(random_graph(20, 3, 1)) == weights_of(random_graph(20, 3, 1)));
  CHECK(weights_of(random_graph(20, 3, 1)) != weights_of(random_graph(20, 3, 2)));
}

}  // namespace coracle::asp::shortest_paths_test
