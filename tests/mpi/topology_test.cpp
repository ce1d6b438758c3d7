// Grids and graphs: who is whose neighbour; and how nodes are laid out as grids.
#include "interfaces/mpi/core/topology.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "interfaces/mpi/core/error.hpp"
#include "interfaces/mpi/core_functions.hpp"
#include "tests/mpi/error_of.hpp"

namespace mpi_topology_test {

namespace {

using namespace coracle::mpi;
using coracle::mpi::tests::error_of;

using Dims = std::vector<int>;

Dims balanced(int nodes, Dims dims) {
  balance_dims(nodes, dims);
  return dims;
}

/// All non-increasing factorings; keeps the best by (largest - smallest, then in order).
void search(int number, int parts, Dims& chosen, Dims& best) {
  if (parts == 0) {
    if (number != 1) return;
    const auto spread = [](const Dims& of) { return of.front() - of.back(); };
    if (best.empty() || spread(chosen) < spread(best) || (spread(chosen) == spread(best) && chosen < best))
      best = chosen;
    return;
  }
  for (int factor = 1; factor <= (chosen.empty() ? number : chosen.back()); ++factor) {
    if (number % factor != 0) continue;
    chosen.push_back(factor);
    search(number / factor, parts - 1, chosen, best);
    chosen.pop_back();
  }
}

Dims best_dims(int nodes, int parts) {
  Dims chosen, best;
  search(nodes, parts, chosen, best);
  return best;
}

}  // namespace

TEST_CASE("mpi dims: no other factors are closer to each other") {
  for (int parts = 1; parts <= 5; ++parts) {
    for (int nodes = 1; nodes <= 400; ++nodes) {
      CAPTURE(parts);
      CAPTURE(nodes);
      REQUIRE(balanced(nodes, Dims(static_cast<std::size_t>(parts))) == best_dims(nodes, parts));
    }
  }
}

TEST_CASE("mpi dims: given dimensions stay, the others are filled in order") {
  CHECK(balanced(6, {0, 0}) == Dims{3, 2});
  CHECK(balanced(7, {0, 0}) == Dims{7, 1});
  CHECK(balanced(6, {0, 3, 0}) == Dims{2, 3, 1});
  CHECK(balanced(24, {0, 2, 0, 0}) == Dims{3, 2, 2, 2});
  CHECK(balanced(1, {}).empty());
  CHECK(balanced(6, {2, 3}) == Dims{2, 3});
}

TEST_CASE("mpi dims: large numbers with many factors, and primes") {
  CHECK(balanced(2147483647, {0, 0, 0}) == Dims{2147483647, 1, 1});
  CHECK(balanced(1 << 30, {0, 0, 0}) == Dims{1024, 1024, 1024});
  for (const std::size_t parts : {2U, 3U, 4U, 6U, 8U, 10U, 20U}) {
    const Dims dims = balanced(2095133040, Dims(parts));
    CHECK(std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>()) == 2095133040);
    CHECK(std::is_sorted(dims.rbegin(), dims.rend()));
  }
}

TEST_CASE("mpi dims: what does not fit is told") {
  CHECK(error_of([] { balanced(7, {2, 0}); }).is(ErrorClass::dims, "7 nodes are no multiple"));
  CHECK(error_of([] { balanced(8, {2, 2}); }).is(ErrorClass::dims, "4 nodes, not 8"));
  CHECK(error_of([] { balanced(8, {-1, 0}); }).is(ErrorClass::dims, "-1"));
  CHECK(error_of([] { balanced(0, {0}); }).is(ErrorClass::dims, "nnodes is 0"));
  CHECK(error_of([] { balanced(8, {1 << 30, 1 << 30, 1 << 30}); }).is(ErrorClass::dims, "no multiple"));
  int dims[] = {0, 0};
  CHECK(error_of([&] { dims_create(4, -1, dims); }).is(ErrorClass::dims, "ndims is -1"));
  dims_create(4, 2, dims);
  CHECK(dims[0] == 2);
}

TEST_CASE("mpi grids: ranks and coordinates are row-major, and each other's inverse") {
  const Cartesian grid{{3, 4, 2}, {false, true, false}, {}};
  CHECK(rank_at(grid, {1, 2, 1}) == (1 * 4 + 2) * 2 + 1);
  for (int rank = 0; rank < 24; ++rank) CHECK(rank_at(grid, coordinates_of(grid, rank)) == rank);
  CHECK(rank_at(grid, {1, -1, 1}) == rank_at(grid, {1, 3, 1}));
  CHECK(rank_at(grid, {1, 9, 1}) == rank_at(grid, {1, 1, 1}));
  CHECK(error_of([&] { rank_at(grid, {3, 0, 0}); }).is(ErrorClass::arg, "coordinate 0 is 3"));
  CHECK(error_of([&] { coordinates_of(grid, 24); }).is(ErrorClass::rank, "24 places"));
  CHECK(coordinates_of(Cartesian{}, 0).empty());
}

TEST_CASE("mpi grids: neighbours are before and behind, dimension by dimension") {
  const Topology grid = Cartesian{{2, 3}, {false, true}, {0, 0}};
  const Neighbours corner = neighbours_of(grid, 0);
  CHECK(corner.sources == Dims{kProcNull, 3, 2, 1});
  CHECK(corner.destinations == corner.sources);
  CHECK(neighbours_of(grid, 4).sources == Dims{1, kProcNull, 3, 5});
  const Topology ring = Cartesian{{1}, {true}, {0}};
  CHECK(neighbours_of(ring, 0).sources == Dims{0, 0});
}

TEST_CASE("mpi grids: steps may be larger than the grid") {
  const Cartesian grid{{5, 3}, {true, false}, {}};
  CHECK(rank_beside(grid, {1, 1}, 0, 12) == rank_at(grid, {3, 1}));
  CHECK(rank_beside(grid, {1, 1}, 0, -7) == rank_at(grid, {4, 1}));
  CHECK(rank_beside(grid, {1, 1}, 1, 2) == kProcNull);
  CHECK(rank_beside(grid, {1, 1}, 1, -1) == rank_at(grid, {1, 0}));
  CHECK(rank_beside(grid, {1, 1}, 0, 2147483647LL) == rank_at(grid, {3, 1}));
}

TEST_CASE("mpi grids: more places than members are refused") {
  CHECK(error_of([] { check_grid({{2, 3}, {}, {}}, 5); }).is(ErrorClass::dims, "6 places, and the communicator 5"));
  CHECK(error_of([] { check_grid({{2, 0}, {}, {}}, 5); }).is(ErrorClass::dims, "dims[1] is 0"));
  CHECK(error_of([] { check_grid({{1 << 20, 1 << 20, 1 << 20, 1 << 20}, {}, {}}, 5); }).is(ErrorClass::dims, "5"));
  check_grid({{2, 3}, {}, {}}, 6);
}

TEST_CASE("mpi graphs: neighbours come in the order of the edges") {
  const Graph graph{{2, 3, 4, 6}, {1, 3, 0, 3, 0, 2}};  // MPI's example
  CHECK(neighbours_in(graph, 0) == Dims{1, 3});
  CHECK(neighbours_in(graph, 1) == Dims{0});
  CHECK(neighbours_of(Topology(graph), 3).destinations == Dims{0, 2});
  CHECK(error_of([&] { neighbours_in(graph, 4); }).is(ErrorClass::rank, "rank 4"));
  check_graph(graph, 4);
  CHECK(error_of([&] { check_graph(graph, 3); }).is(ErrorClass::arg, "4 nodes"));
  CHECK(error_of([] { check_graph({{2, 1}, {0, 1}}, 4); }).is(ErrorClass::arg, "index[1] is 1"));
  CHECK(error_of([] { check_graph({{1, 2}, {0, 2}}, 4); }).is(ErrorClass::arg, "edges[1] is 2"));
}

TEST_CASE("mpi graphs: distributed ones have sources and destinations of their own") {
  DistributedGraph graph;
  graph.sources = {4, 1};
  graph.destinations = {2};
  const Neighbours neighbours = neighbours_of(Topology(graph), 0);
  CHECK(neighbours.sources == Dims{4, 1});
  CHECK(neighbours.destinations == Dims{2});
}

}  // namespace mpi_topology_test
