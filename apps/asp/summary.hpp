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
  explicit Summary(std::size_t vertices) : distance_to_(vertices), reached_by_(vertices) {}

  /// Adds the distances from `source`; `row` holds at least vertices() entries. Each source once, on one rank.
  void add_row(Vertex source, std::span<const float> row);

  /// Adds what another rank found for its rows.
  void merge(const Summary& other);

  std::size_t vertices() const noexcept { return reached_by_.size(); }
  std::uint64_t pairs() const noexcept { return pairs_; }

  /// 0 without pairs.
  double mean_distance() const noexcept;

  /// The longest of the shortest ways, and one pair that is so far apart (that of the smallest source, then target).
  float diameter() const noexcept { return diameter_; }
  Vertex diameter_source() const noexcept { return diameter_source_; }
  Vertex diameter_target() const noexcept { return diameter_target_; }

  /// Closeness of `vertex` by Wasserman and Faust (Social Network Analysis, 1994, section 5.2): r^2 / ((n - 1) s),
  /// where r others reach it over distances that sum up to s. It grows with how many come and how near they are;
  /// infinite when all are at distance 0, and 0 when none comes.
  double closeness(Vertex vertex) const noexcept;

  /// The `count` vertices of greatest closeness, ties by number.
  std::vector<Central> most_central(std::size_t count) const;

  /// For collectives: packed_size(vertices()) doubles that lose nothing.
  static constexpr std::size_t packed_size(std::size_t vertices) noexcept { return kPackedHead + 2 * vertices; }
  std::vector<double> pack() const;
  static Summary unpack(std::span<const double> packed);

 private:
  static constexpr std::size_t kPackedHead = 5;

  void note_farthest(float distance, Vertex source, Vertex target) noexcept;

  std::uint64_t pairs_ = 0;
  double distance_sum_ = 0;
  float diameter_ = 0;
  Vertex diameter_source_ = 0;
  Vertex diameter_target_ = 0;
  std::vector<double> distance_to_;        // by target: sum over the sources that reach it
  std::vector<std::uint32_t> reached_by_;  // by target: how many sources
};

}  // namespace coracle::asp
