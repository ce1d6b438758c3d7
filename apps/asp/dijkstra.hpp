// Shortest paths from one vertex by another algorithm: the witness against which asp's matrix is verified.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/asp/graph.hpp"

namespace coracle::asp {

/// Distances from `source` to all vertices, summed in double; infinity where no way leads. Weights are floats >= 0.
std::vector<double> dijkstra(const Graph& graph, Vertex source);

struct Mismatch {
  Vertex target;
  float found;
  double expected;
};

/// The first entry of a distance row (float, at least graph.vertices() long) that does not agree with Dijkstra's
/// `expected`. Where all weights are whole and the distance is at most 2^24, every sum is exact in float, and so is the
/// comparison. Else a distance, being the least of rounded sums of fewer than `vertices` additions, may be off by the
/// relative error vertices * 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2).
std::optional<Mismatch> compare_row(const Graph& graph, std::span<const float> row, std::span<const double> expected);

/// True when compare_row compares all of `expected` exactly.
bool is_exact(const Graph& graph, std::span<const double> expected);

}  // namespace coracle::asp
