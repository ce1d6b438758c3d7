// Every row has one owner, and starts as the graph's arcs.
#include "apps/asp/solver.hpp"

#include <doctest/doctest.h>

#include <ostream>
#include <vector>

#include "apps/asp/graph.hpp"

namespace coracle::asp::owned_rows_test {

TEST_CASE("owned rows: each row belongs to one rank, for many shapes, also more ranks than blocks") {
  for (const std::size_t vertices : {1U, 15U, 16U, 17U, 200U}) {
    const Graph graph = random_graph(vertices, 3, vertices);
    for (const std::uint32_t ranks : {1U, 2U, 3U, 16U}) {
      const BlockLayout layout = {vertices, 16, ranks};
      std::vector<int> seen(vertices);
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const OwnedRows rows(layout, rank, graph);
        for (std::size_t block = rows.first_block(); block < layout.blocks(); block += ranks) {
          CHECK(rows.owns(block));
          for (std::size_t i = 0; i < layout.row_count(block); ++i) {
            const std::size_t vertex = layout.first_row(block) + i;
            CHECK(layout.owner_of_row(vertex) == rank);
            CHECK(rows.row(vertex)[vertex] == 0);
            CHECK(rows.row(vertex).data() == rows.block(block).row(i));
            ++seen[vertex];
          }
        }
      }
      CHECK(seen == std::vector<int>(vertices, 1));
    }
  }
}

TEST_CASE("owned rows: a good block fits the kernels, for any graph and number of ranks") {
  for (const std::size_t vertices : {1U, 100U, 825U, 4096U, 100000U}) {
    for (const std::uint32_t ranks : {1U, 2U, 16U, 1000U}) {
      const std::size_t block = good_block_size(vertices, ranks);
      CHECK(block % kPivotsStep == 0);
      CHECK(block >= kPivotsStep);
      CHECK(block <= kPivotsMax);
    }
  }
  CHECK(good_block_size(4096, 2) == 64);
  CHECK(good_block_size(825, 8) == 16);
}

}  // namespace coracle::asp::owned_rows_test
