// What is said about a matrix of distances: computed from any rows, merged over ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "apps/asp/graph.hpp"

namespace coracle::asp {

struct Central {
  Vertex vertex;
  double closeness;
  std::size_t reached_by;  ///< vertices other than itself that have a way to it
};

/// Counts only pairs of different vertices with a way from the first to the second.
class Summary {
 public:
  explicit Summary(std::size_t vertices) : values_(packed_size(vertices)) {}

  /// Adds the distances from `source`; `row` holds at least vertices() entries. Each source once, on one rank.
  void add_row(Vertex source, std::span<const float> row);

  /// Adds what another rank found for its rows.
  void merge(const Summary& other);

  std::size_t vertices() const noexcept { return (values_.size() - kHead) / 2; }
  std::uint64_t pairs() const noexcept { return static_cast<std::uint64_t>(values_[kPairs]); }

  /// 0 without pairs.
  double mean_distance() const noexcept;

  /// The longest of the shortest ways, and one pair that is so far apart (that of the smallest source, then target).
  float diameter() const noexcept { return static_cast<float>(values_[kDiameter]); }
  Vertex diameter_source() const noexcept { return static_cast<Vertex>(values_[kSource]); }
  Vertex diameter_target() const noexcept { return static_cast<Vertex>(values_[kTarget]); }

  /// Closeness of `vertex` by Wasserman and Faust (Social Network Analysis, 1994, section 5.2): r^2 / ((n - 1) s),
  /// where r others reach it over distances that sum up to s. It grows with how many come and how near they are;
  /// infinite when all are at distance 0, and 0 when none comes.
  double closeness(Vertex vertex) const noexcept;

  /// The `count` vertices of greatest closeness, ties by number.
  std::vector<Central> most_central(std::size_t count) const;

  /// For collectives: packed_size(vertices()) doubles that lose nothing.
  static constexpr std::size_t packed_size(std::size_t vertices) noexcept { return kHead + 2 * vertices; }
  const std::vector<double>& pack() const noexcept { return values_; }
  static Summary unpack(std::span<const double> packed);

 private:
  /// Where what lies; behind the head: by target, the sum over the sources that reach it, and then how many they are.
  enum Place : std::size_t { kDiameter, kSource, kTarget, kPairs, kSum, kHead };

  double distance_to(Vertex vertex) const noexcept { return values_[kHead + vertex]; }
  std::size_t reached_by(Vertex vertex) const noexcept {
    return static_cast<std::size_t>(values_[kHead + vertices() + vertex]);
  }

  std::vector<double> values_;
};

}  // namespace coracle::asp
