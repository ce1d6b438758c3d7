// Shares as even as can be.
#include "apps/himeno/block.hpp"

#include <fmt/format.h>

#include <charconv>

#include "runtime/core/assert.hpp"

namespace coracle::himeno {
namespace {

constexpr std::size_t kNumberMax = std::size_t{1} << 20;

std::size_t share_begin(std::size_t points, std::size_t index, std::size_t parts) noexcept {
  return points * index / parts;
}

/// What exchanging the halo of the largest block costs, in points.
double cost(const Triple& ranks, const Triple& points) {
  constexpr double kWeight[3] = {1, 1.25, 3};
  double cost = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    if (ranks[d] == 1) continue;
    std::size_t face = ranks[d] == 2 ? 1 : 2;
    for (std::size_t other = 0; other < 3; ++other)
      if (other != d) face *= (points[other] + ranks[other] - 1) / ranks[other];
    cost += kWeight[d] * static_cast<double>(face);
  }
  return cost;
}

}  // namespace

std::optional<Triple> parse_triple(const std::string& text) {
  Triple triple{};
  const char* from = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t d = 0; d < 3; ++d) {
    if (d > 0 && (from == end || *from++ != 'x')) return std::nullopt;
    const auto parsed = std::from_chars(from, end, triple[d]);
    if (parsed.ec != std::errc() || triple[d] == 0 || triple[d] > kNumberMax) return std::nullopt;
    from = parsed.ptr;
  }
  if (from != end) return std::nullopt;
  return triple;
}

std::string to_text(const Triple& triple) {
  return fmt::format("{}x{}x{}", triple[0], triple[1], triple[2]);
}

std::optional<Triple> arrange(std::uint32_t ranks, const Triple& size) {
  const Triple points = inner(size);
  std::optional<Triple> best;
  for (std::size_t i = 1; i <= ranks; ++i) {
    if (ranks % i != 0 || i > points[0]) continue;
    for (std::size_t j = 1; j <= ranks / i; ++j) {
      const Triple found = {i, j, ranks / i / j};
      if (product(found) != ranks || j > points[1] || found[2] > points[2]) continue;
      if (!best || cost(found, points) < cost(*best, points)) best = found;
    }
  }
  return best;
}

Block::Block(const Triple& size, const Triple& ranks, std::uint32_t rank)
    : first_{}, count_{}, place_{rank / (ranks[1] * ranks[2]), rank / ranks[2] % ranks[1], rank % ranks[2]}, row_(0) {
  const Triple points = inner(size);
  for (std::size_t d = 0; d < 3; ++d) {
    CORACLE_ASSERT(ranks[d] <= points[d], "{} ranks for {} points", ranks[d], points[d]);
    const std::size_t begin = share_begin(points[d], place_[d], ranks[d]);
    first_[d] = begin + 1;
    count_[d] = share_begin(points[d], place_[d] + 1, ranks[d]) - begin;
  }
  // A lead, so that point 1 is aligned, the points, the halo behind them, and what is left of that vector.
  row_ = kLanesMax + (count_[2] + 1 + kLanesMax - 1) / kLanesMax * kLanesMax;
}

Box Block::all() const noexcept {
  return {{1, 1, 1}, {count_[0] + 1, count_[1] + 1, count_[2] + 1}};
}

}  // namespace coracle::himeno
