// Blocked Floyd-Warshall gives bit for bit what the textbook's loop gives, with every kernel and block size.
#include "apps/asp/min_plus.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <vector>

#include "apps/asp/graph.hpp"

namespace coracle::asp::min_plus_test {

namespace {

std::vector<float> matrix_of(const Graph& graph) {
  const std::size_t stride = row_stride(graph.vertices());
  std::vector<float> matrix(graph.vertices() * stride);
  for (Vertex v = 0; v < graph.vertices(); ++v) graph.fill_row(v, std::span(matrix).subspan(v * stride, stride));
  return matrix;
}

void textbook(std::vector<float>& d, std::size_t n) {
  const std::size_t stride = row_stride(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        d[i * stride + j] = std::min(d[i * stride + j], d[i * stride + k] + d[k * stride + j]);
      }
    }
  }
}

void blocked(std::vector<float>& d, std::size_t n, std::size_t block, const MinPlusKernel& kernel) {
  const std::size_t stride = row_stride(n);
  MinPlusBlock min_plus(kernel);
  std::vector<float> pivots(block * stride);
  for (std::size_t first = 0; first < n; first += block) {
    const std::size_t count = std::min(block, n - first);
    const DistanceRows own = {d.data() + first * stride, count, stride};
    for (std::size_t step = 0; step < count; ++step) min_plus.make_pivot(own, first, step, pivots.data());
    const PivotRows made = {pivots.data(), first, count};
    min_plus.finish_block(own, made);
    min_plus.apply({d.data(), first, stride}, made);
    min_plus.apply({own.row(count), n - first - count, stride}, made);
  }
}

// Fractions, so that a sum in another order would differ in its last bits.
Graph fractional_graph(std::size_t vertices, std::size_t degree, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<Arc> arcs = random_graph(vertices, degree, seed).arc_list();
  for (Arc& arc : arcs) arc.weight = static_cast<float>(random.below(1 << 24)) * 1e-5F;
  return Graph(vertices, arcs);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("min-plus: blocks of pivots give the textbook's bits for many sizes") {
  for (const MinPlusKernel* kernel : usable_min_plus_kernels()) {
    for (std::size_t n = 1; n <= 200; n += n < 20 ? 1 : 9) {
      for (const std::size_t degree : {std::size_t{1}, std::size_t{3}}) {
        const Graph graph = fractional_graph(n, degree, n);
        std::vector<float> expected = matrix_of(graph);
        std::vector<float> found = expected;
        textbook(expected, n);
        const std::size_t block = kPivotsStep * (1 + n % (kPivotsMax / kPivotsStep));
        blocked(found, n, block, *kernel);
        INFO("kernel ", kernel->name, ", ", n, " vertices, degree ", degree, ", block ", block);
        CHECK(same_bits(found, expected));
      }
    }
  }
}

TEST_CASE("min-plus: every block size gives the same bits") {
  constexpr std::size_t kVertices = 150;
  const Graph graph = fractional_graph(kVertices, 4, 7);
  std::vector<float> expected = matrix_of(graph);
  textbook(expected, kVertices);
  for (std::size_t block = kPivotsStep; block <= kPivotsMax; block += kPivotsStep) {
    std::vector<float> found = matrix_of(graph);
    blocked(found, kVertices, block, best_min_plus_kernel());
    INFO("block ", block);
    CHECK(same_bits(found, expected));
  }
}

TEST_CASE("min-plus: rows that reach no pivot cost no operation") {
  const std::vector<Arc> arcs = {{0, 1, 1.0F}, {1, 0, 2.0F}};
  const Graph graph(100, arcs);
  std::vector<float> matrix = matrix_of(graph);
  MinPlusBlock min_plus;
  std::vector<float> pivots(kPivotsStep * row_stride(100));
  const DistanceRows own = {matrix.data(), kPivotsStep, row_stride(100)};
  for (std::size_t step = 0; step < kPivotsStep; ++step) min_plus.make_pivot(own, 0, step, pivots.data());
  const double before = min_plus.operations();
  min_plus.apply({own.row(kPivotsStep), 100 - kPivotsStep, own.stride}, {pivots.data(), 0, kPivotsStep});
  CHECK(min_plus.operations() == before);
}

TEST_CASE("min-plus: the padding stays unreachable") {
  const Graph graph = fractional_graph(70, 3, 1);
  std::vector<float> matrix = matrix_of(graph);
  blocked(matrix, 70, 32, best_min_plus_kernel());
  for (std::size_t i = 0; i < 70; ++i) {
    for (std::size_t j = 70; j < row_stride(70); ++j) REQUIRE(matrix[i * row_stride(70) + j] == kUnreachable);
  }
}

TEST_CASE("min-plus: the vector units' limit is a rate for every kernel") {
  for (const MinPlusKernel* kernel : usable_min_plus_kernels()) CHECK(vector_limit(*kernel) > 0);
}

}  // namespace coracle::asp::min_plus_test
