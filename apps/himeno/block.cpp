// Shares as even as can be. One piece of memory for the twelve arrays, on large pages where the kernel gives them.
#include "apps/himeno/block.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <new>
#include <system_error>
#include <tuple>
#include <utility>

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

namespace {

constexpr std::size_t kArrays = std::tuple_size_v<decltype(constants_of(std::declval<Coefficients&>()))>;
// Arrays begin so many floats beside a multiple of a page from each other: a kernel reads all of them at the same
// place, and the lines of one place in equal pages would meet in the same sets of the cache.
constexpr std::size_t kSkew = 5 * 64 / sizeof(float);
constexpr std::size_t kPageFloats = 4096 / sizeof(float);

}  // namespace

void fill_pressure(const Block& block, const Triple& size, float* array) {
  for (std::size_t i = 0; i < block.count()[0] + 2; ++i)
    std::fill_n(array + i * block.plane(), block.plane(), first_pressure(block.first()[0] - 1 + i, size[0]));
}

std::array<Constant, 12> constants_of(Coefficients& of) noexcept {
  return {{{&of.a[0], 1.0F},
           {&of.a[1], 1.0F},
           {&of.a[2], 1.0F},
           {&of.a[3], 1.0F / 6.0F},
           {&of.b[0], 0.0F},
           {&of.b[1], 0.0F},
           {&of.b[2], 0.0F},
           {&of.c[0], 1.0F},
           {&of.c[1], 1.0F},
           {&of.c[2], 1.0F},
           {&of.bnd, 1.0F},
           {&of.wrk1, 0.0F}}};
}

void Fields::Free::operator()(float* memory) const noexcept {
  std::free(memory);
}

Fields::Fields(const Block& block) : coefficients_{} {
  constexpr std::size_t kHugePage = std::size_t{2} << 20U;
  const std::size_t distance = (block.floats() + kPageFloats - 1) / kPageFloats * kPageFloats + kSkew;
  const std::size_t bytes = (distance * kArrays * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
  memory_.reset(static_cast<float*>(std::aligned_alloc(kHugePage, bytes)));
  if (!memory_) throw std::bad_alloc();
  ::madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // only a hint
  float* next = memory_.get();
  for (const auto& [array, value] : constants_of(coefficients_)) {
    std::fill_n(next, block.floats(), value);
    *array = next + block.at(0, 0, 0);  // a row's point 0 lies just before the aligned point 1
    next += distance;
  }
  coefficients_.plane = block.plane();
  coefficients_.row = block.row();
}

}  // namespace coracle::himeno
