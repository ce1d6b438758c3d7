// Graph500's generator: initiator A = 0.57, B = 0.19, C = 0.19, as in its specification. The permutation of the
// vertices is computed, not stored: rounds that can each be undone on numbers of `scale` bits.
#include "apps/bfs/edge.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "apps/common/split_mix.hpp"

namespace coracle::bfs {
namespace {

// In 2^32ths.
constexpr std::uint64_t kA = 2448131359;         // 0.57
constexpr std::uint64_t kAB = kA + 816043786;    // + 0.19
constexpr std::uint64_t kABC = kAB + 816043786;  // + 0.19
constexpr std::uint64_t kRounds = 4;

}  // namespace

Kronecker::Kronecker(std::uint32_t scale, std::uint64_t edge_factor, std::uint64_t seed) noexcept
    : scale_(scale),
      edge_factor_(edge_factor),
      edge_seed_(SplitMix64::at(seed, 0)),
      name_seed_(SplitMix64::at(seed, 1)) {}

Edge Kronecker::edge(std::uint64_t number) const noexcept {
  SplitMix64 random(SplitMix64::at(edge_seed_, number));
  Vertex from = 0;
  Vertex to = 0;
  std::uint64_t bits = 0;
  for (std::uint32_t level = 0; level < scale_; ++level) {
    bits = level % 2 == 0 ? random.next() : bits >> 32U;
    const std::uint64_t part = bits & 0xffffffffU;
    from = from << 1U | (part >= kAB ? 1U : 0U);
    to = to << 1U | ((part >= kA && part < kAB) || part >= kABC ? 1U : 0U);
  }
  return {renamed(from), renamed(to)};
}

Vertex Kronecker::renamed(Vertex vertex) const noexcept {
  const std::uint64_t mask = vertices() - 1;
  const std::uint32_t half = std::max(1U, scale_ / 2);
  std::uint64_t name = vertex;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    // Odd factors, sums, and exclusive ors with one's own higher bits are one to one modulo a power of two.
    name = (name * (SplitMix64::at(name_seed_, 2 * round) | 1U) + SplitMix64::at(name_seed_, 2 * round + 1)) & mask;
    name ^= name >> half;
  }
  return static_cast<Vertex>(name);
}

Task<> exchange(Team& team, std::vector<std::vector<Edge>>& outgoing, std::vector<Edge>& incoming) {
  std::vector<std::uint64_t> leaving;
  std::vector<Edge> source;
  for (std::vector<Edge>& edges : outgoing) {
    leaving.push_back(edges.size());
    source.insert(source.end(), edges.begin(), edges.end());
    edges.clear();
  }
  std::vector<std::uint64_t> coming(leaving.size());
  co_await team.all_to_all(std::span<const std::uint64_t>(leaving), std::span(coming));
  std::uint64_t all = 0;
  for (const std::uint64_t count : coming) all += count;
  incoming.resize(all);
  const std::vector<std::size_t> source_counts(leaving.begin(), leaving.end());
  const std::vector<std::size_t> target_counts(coming.begin(), coming.end());
  co_await team.all_to_all_v(std::span<const Edge>(source), source_counts, std::span(incoming), target_counts);
}

Task<std::exception_ptr> error_of(Task<> work) {
  std::exception_ptr error;
  try {
    co_await work;
  } catch (...) {
    error = std::current_exception();
  }
  co_return error;
}

}  // namespace coracle::bfs
