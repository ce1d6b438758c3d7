// Sums, maxima and the order of the most central vertices.
#include "apps/asp/summary.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "runtime/core/assert.hpp"

namespace coracle::asp {

void Summary::add_row(Vertex source, std::span<const float> row) {
  CORACLE_ASSERT(row.size() >= vertices(), "a row of {} for {} vertices", row.size(), vertices());
  double sum = 0;
  for (std::size_t j = 0; j < vertices(); ++j) {
    if (j == source || row[j] == kUnreachable) continue;
    const auto distance = static_cast<double>(row[j]);
    sum += distance;
    distance_to_[j] += distance;
    ++reached_by_[j];
    if (pairs_++ == 0 || row[j] > diameter_) note_farthest(row[j], source, static_cast<Vertex>(j));
  }
  distance_sum_ += sum;
}

void Summary::merge(const Summary& other) {
  CORACLE_ASSERT(other.vertices() == vertices(), "summaries of {} and {} vertices", vertices(), other.vertices());
  const auto mine = std::tuple(-diameter_, diameter_source_, diameter_target_);
  const auto theirs = std::tuple(-other.diameter_, other.diameter_source_, other.diameter_target_);
  if (other.pairs_ > 0 && (pairs_ == 0 || theirs < mine)) {
    note_farthest(other.diameter_, other.diameter_source_, other.diameter_target_);
  }
  pairs_ += other.pairs_;
  distance_sum_ += other.distance_sum_;
  for (std::size_t j = 0; j < vertices(); ++j) {
    distance_to_[j] += other.distance_to_[j];
    reached_by_[j] += other.reached_by_[j];
  }
}

double Summary::mean_distance() const noexcept {
  return pairs_ == 0 ? 0 : distance_sum_ / static_cast<double>(pairs_);
}

double Summary::closeness(Vertex vertex) const noexcept {
  const auto reached = static_cast<double>(reached_by_[vertex]);
  if (reached_by_[vertex] == 0) return 0;
  if (distance_to_[vertex] == 0) return std::numeric_limits<double>::infinity();
  return reached * reached / (static_cast<double>(vertices() - 1) * distance_to_[vertex]);
}

std::vector<Central> Summary::most_central(std::size_t count) const {
  std::vector<Central> all;
  all.reserve(vertices());
  for (Vertex v = 0; v < vertices(); ++v) all.push_back({v, closeness(v), reached_by_[v]});
  const std::size_t kept = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [](const Central& a, const Central& b) {
                      return std::tuple(-a.closeness, a.vertex) < std::tuple(-b.closeness, b.vertex);
                    });
  all.resize(kept);
  return all;
}

std::vector<double> Summary::pack() const {
  std::vector<double> packed = {static_cast<double>(pairs_), distance_sum_, static_cast<double>(diameter_),
                                static_cast<double>(diameter_source_), static_cast<double>(diameter_target_)};
  packed.reserve(packed_size(vertices()));
  packed.insert(packed.end(), distance_to_.begin(), distance_to_.end());
  packed.insert(packed.end(), reached_by_.begin(), reached_by_.end());
  return packed;
}

Summary Summary::unpack(std::span<const double> packed) {
  CORACLE_ASSERT(packed.size() >= kPackedHead && (packed.size() - kPackedHead) % 2 == 0, "{} doubles", packed.size());
  Summary summary((packed.size() - kPackedHead) / 2);
  summary.pairs_ = static_cast<std::uint64_t>(packed[0]);
  summary.distance_sum_ = packed[1];
  summary.note_farthest(static_cast<float>(packed[2]), static_cast<Vertex>(packed[3]), static_cast<Vertex>(packed[4]));
  const std::span<const double> arrays = packed.subspan(kPackedHead);
  std::copy_n(arrays.begin(), summary.vertices(), summary.distance_to_.begin());
  for (std::size_t j = 0; j < summary.vertices(); ++j) {
    summary.reached_by_[j] = static_cast<std::uint32_t>(arrays[summary.vertices() + j]);
  }
  return summary;
}

void Summary::note_farthest(float distance, Vertex source, Vertex target) noexcept {
  diameter_ = distance;
  diameter_source_ = source;
  diameter_target_ = target;
}

}  // namespace coracle::asp
