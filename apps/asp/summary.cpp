// Sums, maxima and the order of the most central vertices.
#include "apps/asp/summary.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "runtime/core/assert.hpp"

namespace coracle::asp {

void Summary::add_row(Vertex source, std::span<const float> row) {
  CORACLE_ASSERT(row.size() >= vertices(), "a row of {} for {} vertices", row.size(), vertices());
  double* const distance_to = &values_[kHead];
  double* const reached_by = distance_to + vertices();
  for (std::size_t j = 0; j < vertices(); ++j) {
    if (j == source || row[j] == kUnreachable) continue;
    const auto distance = static_cast<double>(row[j]);
    values_[kSum] += distance;
    distance_to[j] += distance;
    ++reached_by[j];
    if (values_[kPairs]++ > 0 && distance <= values_[kDiameter]) continue;
    values_[kDiameter] = distance;
    values_[kSource] = source;
    values_[kTarget] = static_cast<double>(j);
  }
}

void Summary::merge(const Summary& other) {
  CORACLE_ASSERT(other.vertices() == vertices(), "summaries of {} and {} vertices", vertices(), other.vertices());
  const auto farthest = [](const Summary& of) {
    return std::tuple(-of.values_[kDiameter], of.values_[kSource], of.values_[kTarget]);
  };
  if (other.pairs() > 0 && (pairs() == 0 || farthest(other) < farthest(*this)))
    std::copy_n(other.values_.begin(), std::size_t{kPairs}, values_.begin());
  for (std::size_t i = kPairs; i < values_.size(); ++i) values_[i] += other.values_[i];
}

double Summary::mean_distance() const noexcept {
  return pairs() == 0 ? 0 : values_[kSum] / values_[kPairs];
}

double Summary::closeness(Vertex vertex) const noexcept {
  const auto reached = static_cast<double>(reached_by(vertex));
  if (reached == 0) return 0;
  if (distance_to(vertex) == 0) return std::numeric_limits<double>::infinity();
  return reached * reached / (static_cast<double>(vertices() - 1) * distance_to(vertex));
}

std::vector<Central> Summary::most_central(std::size_t count) const {
  std::vector<Central> all;
  all.reserve(vertices());
  for (Vertex v = 0; v < vertices(); ++v) all.push_back({v, closeness(v), reached_by(v)});
  const std::size_t kept = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [](const Central& a, const Central& b) {
                      return std::tuple(-a.closeness, a.vertex) < std::tuple(-b.closeness, b.vertex);
                    });
  all.resize(kept);
  return all;
}

Summary Summary::unpack(std::span<const double> packed) {
  CORACLE_ASSERT(packed.size() >= kHead && (packed.size() - kHead) % 2 == 0, "{} doubles", packed.size());
  Summary summary(0);
  summary.values_.assign(packed.begin(), packed.end());
  return summary;
}

}  // namespace coracle::asp
