// A weighted directed graph in compressed rows: what the readers make, and what Floyd-Warshall and Dijkstra start from.
// And shortest paths from one vertex by Dijkstra, the witness against which asp's matrix is verified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/common/split_mix.hpp"

namespace coracle::asp {

using Vertex = std::uint32_t;

/// No way leads there.
inline constexpr float kUnreachable = std::numeric_limits<float>::infinity();

/// More vertices than this are refused by readers: the distance matrix would have 2^40 entries, and a size that is
/// declared by a damaged file must not decide how much memory is taken.
inline constexpr std::size_t kVerticesMax = std::size_t{1} << 20;

/// Above this a sum of weights along a path might overflow a float and look like kUnreachable.
inline constexpr double kWeightMax = 1e30;

struct Arc {
  Vertex source;
  Vertex target;
  float weight;  ///< 0 <= weight <= kWeightMax
};

/// Immutable. Parallel arcs and loops are kept; distances use the lightest.
class Graph {
 public:
  /// `names` is empty or holds one name per vertex; without names vertex v is called v + first_number.
  Graph(std::size_t vertices, std::span<const Arc> arcs, std::vector<std::string> names = {},
        std::size_t first_number = 0);

  std::size_t vertices() const noexcept { return first_arc_.size() - 1; }
  std::size_t arcs() const noexcept { return targets_.size(); }

  /// Heads of the arcs that leave `vertex`; weights() has the same order.
  std::span<const Vertex> targets(Vertex vertex) const noexcept;
  std::span<const float> weights(Vertex vertex) const noexcept;

  std::string name(Vertex vertex) const;

  /// True when every weight is a whole number: then distances up to 2^24 are exact in float.
  bool has_whole_weights() const noexcept { return has_whole_weights_; }

  /// The same graph with each arc in both directions.
  Graph undirected() const;

  /// All arcs, by source.
  std::vector<Arc> arc_list() const;

  /// Writes the row of the distance matrix before the first step: 0 for the vertex itself, the lightest arc's weight
  /// for its neighbours, kUnreachable for all others and for the padding behind vertices().
  void fill_row(Vertex vertex, std::span<float> row) const;

 private:
  std::vector<std::size_t> first_arc_;  // by vertex, and one behind the last
  std::vector<Vertex> targets_;
  std::vector<float> weights_;
  std::vector<std::string> names_;
  std::size_t first_number_;
  bool has_whole_weights_ = true;
};

/// `degree` arcs from each of `vertices` > 0 vertices to vertices drawn with replacement; whole weights 1..100, so that
/// distances are exact in float.
Graph random_graph(std::size_t vertices, std::size_t degree, std::uint64_t seed);

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
