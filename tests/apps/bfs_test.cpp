// bfs's parts: Kronecker graphs, readers, the division of vertices, verification, and the command line.
#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/bfs/edge.hpp"
#include "apps/bfs/paged_graph.hpp"
#include "apps/bfs/readers.hpp"
#include "apps/bfs/search.hpp"
#include "apps/bfs/user_interface.hpp"
#include "runtime/core/error.hpp"
#include "tests/apps/parse_words.hpp"

namespace coracle::bfs::bfs_test {

using namespace internals;
namespace {

struct Read {
  std::vector<Edge> edges;
  std::vector<std::string> names;
};

/// In pieces of `piece` bytes.
Read read_list(std::string_view text, std::size_t piece, TextFormat format = TextFormat::edge_list,
               Direction direction = Direction::as_written) {
  Read read;
  Names names;
  const auto reader = make_reader(format, "list", names, direction, [&read](Edge edge) { read.edges.push_back(edge); });
  for (std::size_t at = 0; at < text.size(); at += piece) reader->feed(text.substr(at, piece));
  reader->finish();
  for (Vertex vertex = 0; vertex < names.size(); ++vertex) {
    read.names.push_back(names.name(vertex));
    CHECK(names.find(names.name(vertex)) == vertex);
  }
  return read;
}

Read read_synsets(std::string_view text) {
  Read read;
  std::unordered_map<std::uint64_t, Vertex> synsets;
  read_wordnet("data.noun", text, synsets, read.names, [&read](Edge edge) { read.edges.push_back(edge); });
  return read;
}

std::variant<Options, int> parse(std::vector<std::string> words) {
  return apps_test::parse_words(parse_options, std::move(words));
}

int status_of(std::vector<std::string> words) {
  return apps_test::status_of_words(parse_options, std::move(words));
}

}  // namespace

TEST_CASE("Kronecker graphs: vertices are renamed one to one on every scale") {
  for (std::uint32_t scale = 1; scale <= 14; ++scale) {
    const Kronecker graph(scale, 16, scale);
    std::vector<bool> seen(graph.vertices());
    for (Vertex vertex = 0; vertex < graph.vertices(); ++vertex) {
      const Vertex name = graph.renamed(vertex);
      REQUIRE(name < graph.vertices());
      CHECK(!seen[name]);
      seen[name] = true;
    }
  }
}

TEST_CASE("Kronecker graphs: an edge follows from the seed and its number") {
  const Kronecker one(20, 16, 7);
  const Kronecker same(20, 16, 7);
  const Kronecker other(20, 16, 8);
  CHECK(one.edges() == 16 << 20);
  std::size_t equal = 0;
  for (std::uint64_t number = 1000; number-- > 0;) {
    CHECK(one.edge(number) == same.edge(number));
    if (one.edge(number) == other.edge(number)) ++equal;
  }
  CHECK(equal < 10);
}

TEST_CASE("Kronecker graphs: the quadrants have the shares of Graph500 on every level") {
  // Without the renaming: by undoing it.
  const Kronecker graph(10, 64, 3);
  std::vector<Vertex> original(graph.vertices());
  for (Vertex vertex = 0; vertex < graph.vertices(); ++vertex) original[graph.renamed(vertex)] = vertex;
  for (std::uint32_t level = 0; level < 10; ++level) {
    double counts[2][2] = {};
    for (std::uint64_t number = 0; number < graph.edges(); ++number) {
      const Edge edge = graph.edge(number);
      counts[original[edge.from] >> level & 1][original[edge.to] >> level & 1] += 1;
    }
    const auto edges = static_cast<double>(graph.edges());
    CHECK(counts[0][0] / edges == doctest::Approx(0.57).epsilon(0.02));
    CHECK(counts[0][1] / edges == doctest::Approx(0.19).epsilon(0.04));
    CHECK(counts[1][0] / edges == doctest::Approx(0.19).epsilon(0.04));
    CHECK(counts[1][1] / edges == doctest::Approx(0.05).epsilon(0.1));
  }
}

TEST_CASE("edge lists: the same edges however the text is cut") {
  const std::string text = "# comment\na b\nb c 2.5\r\n\n% another\nlonger-name a\nc c";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    const Read read = read_list(text, piece);
    CHECK(read.names == std::vector<std::string>{"a", "b", "c", "longer-name"});
    CHECK(read.edges == std::vector<Edge>{{0, 1}, {1, 2}, {3, 0}, {2, 2}});
  }
}

TEST_CASE("edge lists: a mistake is told with its line in whatever piece it comes") {
  for (const std::size_t piece : {1U, 4U, 100U}) {
    CHECK_THROWS_WITH_AS(read_list("a b\nb c\nd\n", piece),
                         "list:3: the line ends before its edge's end; complete the line, or get the whole file again",
                         Error);
    CHECK_THROWS_WITH_AS(read_list("a b\nb c x\n", piece), doctest::Contains("list:2: the weight is \"x\""), Error);
    CHECK_THROWS_WITH_AS(read_list("# nothing\n", piece), doctest::Contains("list: the file ends without an edge"),
                         Error);
  }
}

TEST_CASE("DIMACS' and Matrix Market's files: the same edges however the text is cut, called by their numbers") {
  const std::string roads = "c Shortest Paths\np sp 9 3\na 3 1 2.5\nc\na 1 3 -2\r\na 09 9 1";
  for (std::size_t piece = 1; piece <= roads.size(); ++piece) {
    const Read read = read_list(roads, piece, TextFormat::dimacs);
    CHECK(read.names == std::vector<std::string>{"3", "1", "9"});
    CHECK(read.edges == std::vector<Edge>{{0, 1}, {1, 0}, {2, 2}});
  }
  const std::string matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n% text\n4 4 2\n4 2\n3 3\n";
  for (std::size_t piece = 1; piece <= matrix.size(); ++piece) {
    const Read read = read_list(matrix, piece, TextFormat::matrix_market);
    CHECK(read.names == std::vector<std::string>{"4", "2", "3"});
    CHECK(read.edges == std::vector<Edge>{{0, 1}, {1, 0}, {2, 2}});
    CHECK(read.edges.size() <= edges_possible(TextFormat::matrix_market, Direction::as_written, matrix.size()));
  }
}

TEST_CASE("Matrix Market's files: an entry of a symmetric matrix is one edge where edges are followed both ways") {
  const std::string matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 3\n4 2\n3 3\n2 1\n";
  const auto read = [&matrix](Direction direction) {
    return read_list(matrix, matrix.size(), TextFormat::matrix_market, direction).edges;
  };
  CHECK(read(Direction::both_ways) == std::vector<Edge>{{0, 1}, {2, 2}, {1, 3}});
  CHECK(read(Direction::as_written) == std::vector<Edge>{{0, 1}, {1, 0}, {2, 2}, {1, 3}, {3, 1}});
}

TEST_CASE("Matrix Market's files: the room for edges is enough for lines as short as they can be") {
  std::string entries;
  for (int i = 0; i < 100; ++i) entries += "1 2\n";
  const std::string matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n9 9 100\n" + entries;
  for (const Direction direction : {Direction::both_ways, Direction::as_written}) {
    const std::size_t edges = read_list(matrix, matrix.size(), TextFormat::matrix_market, direction).edges.size();
    CHECK(edges <= edges_possible(TextFormat::matrix_market, direction, matrix.size()));
  }
}

TEST_CASE("DIMACS' and Matrix Market's files: mistakes are told with their lines, in whatever piece they come") {
  const auto refused = [](TextFormat format, std::string_view text, const char* complaint) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, text.size()})
      CHECK_THROWS_WITH_AS(read_list(text, piece, format), doctest::Contains(complaint), Error);
  };
  refused(TextFormat::dimacs, "p sp 2 1\na 1 3 1\n", "list:2: the arc's end is \"3\", outside 1 to 2");
  refused(TextFormat::dimacs, "p sp 2 1\na 1 2 far\n", "list:2: the weight is \"far\", which is not a number");
  refused(TextFormat::dimacs, "p sp 2 2\na 1 2 1\n", "list:2: the file ends after 1 of 2 arcs");
  refused(TextFormat::dimacs, "a b\n", "list:1: an arc before the problem line");
  refused(TextFormat::matrix_market, "1 2\n", "list:1: the first line is no `%%MatrixMarket matrix ...`");
  refused(TextFormat::matrix_market, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2\n",
          "list:3: the line ends before its value");
  refused(
      TextFormat::edge_list, "c Shortest Paths\np sp 2 1\na 1 2 1\n",
      "list:1: the weight is \"Paths\", which is not a number; write a number such as 3 or 0.25 (as a list of edges, "
      "FROM TO [WEIGHT]; --format says how the file is written)");
  refused(TextFormat::edge_list, "p sp 2 1\n",
          "list:1: unexpected \"1\" at the end of the line; remove it, or say by "
          "--format how the file is written");
  CHECK(read_list("a b -2\n", 7).edges.size() == 1);  // weights are not looked at
  refused(TextFormat::edge_list, "\x1f\x8b\x08\n", "list: is compressed by gzip; unpack it first with gunzip");
}

TEST_CASE("WordNet: synsets and pointers, also to what comes later or as a cluster's member") {
  const Read read = read_synsets(
      "  1 licence\n"
      "00000010 03 n 02 dog 0 domestic_dog 0 002 @ 00000030 n 0000 + 00000020 a 0101 | gloss 1 2 3\n"
      "00000020 00 s 01 doggish 0 001 \\ 00000010 n 0000 | gloss\n"
      "00000030 03 n 01 animal 0 000 | gloss\n");
  CHECK(read.names == std::vector<std::string>{"dog.n.00000010", "animal.n.00000030", "doggish.a.00000020"});
  CHECK(read.edges == std::vector<Edge>{{0, 1}, {0, 2}, {2, 0}});
}

TEST_CASE("WordNet: a mistake is told with its line") {
  CHECK_THROWS_WITH_AS(read_synsets("  licence\n00000010 03 n zz dog 0 000 | g\n"),
                       doctest::Contains("data.noun:2: the number of words is \"zz\""), Error);
  CHECK_THROWS_WITH_AS(read_synsets("00000010 03 n 01 dog 0 002 @ 00000030 n 0000\n"),
                       doctest::Contains("data.noun:1: the line ends before its pointer's kind"), Error);
  CHECK_THROWS_WITH_AS(read_synsets("00000010 03 n 01 dog 0 001 @ 00000030 q 0000\n"),
                       doctest::Contains("names no synset"), Error);
  CHECK_THROWS_WITH_AS(read_wordnet_folder("/nonexistent", [](Edge) {}), doctest::Contains("/nonexistent/data.noun"),
                       Error);
}

TEST_CASE("ownership: every vertex has one owner") {
  for (const std::uint64_t vertices : {1U, 2U, 7U, 64U, 1000U}) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 5U, 8U}) {
      const Ownership ownership{vertices, ranks};
      CHECK(ownership.first(ranks) == vertices);
      for (Vertex vertex = 0; vertex < vertices; ++vertex) {
        const std::uint32_t owner = ownership.owner(vertex);
        CHECK(owner < ranks);
        CHECK(ownership.first(owner) <= vertex);
        CHECK(vertex < ownership.first(owner) + ownership.count(owner));
      }
    }
  }
}

TEST_CASE("parts: as many vertices as fit, and at least one") {
  using Parts = std::vector<std::uint64_t>;
  const std::vector<std::uint64_t> first_arc = {100, 101, 102, 200, 200, 210};
  CHECK(parts_of(first_arc, 1 << 20) == Parts{0, 5});
  CHECK(parts_of(first_arc, 1) == Parts{0, 1, 2, 3, 4, 5});
  CHECK(parts_of(first_arc, 2 * 12 + 2 * 8) == Parts{0, 2, 3, 4, 5});
  CHECK(parts_of(std::vector<std::uint64_t>{7}, 100) == Parts{0});
}

TEST_CASE("verification: right searches pass and every kind of wrong one is found") {
  // 0 - 1 - 3, 0 - 2 - 3, 4 alone
  const std::vector<Edge> edges = {{0, 1}, {1, 3}, {0, 2}, {2, 3}, {4, 4}};
  const MemoryGraph graph(5, edges, false);
  const std::vector<std::uint32_t> levels = {0, 1, 1, 2, kUnreached};
  const std::vector<Vertex> parents = {0, 0, 0, 1, kNoVertex};
  CHECK(graph.levels(0) == levels);
  CHECK_NOTHROW(check_search(graph, 0, levels, parents));
  const auto found = [&](std::vector<std::uint32_t> wrong_levels, std::vector<Vertex> wrong_parents, const char* text) {
    CHECK_THROWS_WITH_AS(check_search(graph, 0, wrong_levels, wrong_parents), doctest::Contains(text), Error);
  };
  found({0, 1, 1, 3, kUnreached}, parents, "vertex 3: its level is 3, but 2");
  found(levels, {0, 0, 0, 0, kNoVertex}, "vertex 3: its parent 0 is not on the level before");
  found(levels, {1, 0, 0, 1, kNoVertex}, "vertex 0: on level 0 its parent is 1");
  found(levels, {0, 0, 0, kNoVertex, kNoVertex}, "vertex 3: on level 2");
  found(levels, {0, 0, 0, 1, 4}, "vertex 4: on level");
  const MemoryGraph directed(4, std::vector<Edge>{{0, 1}, {2, 0}, {1, 3}}, true);
  CHECK(directed.levels(0) == std::vector<std::uint32_t>{0, 1, kUnreached, 2});
  const MemoryGraph other(5, std::vector<Edge>{{0, 1}, {0, 2}, {2, 3}}, false);
  CHECK_THROWS_WITH_AS(check_search(other, 0, levels, parents), doctest::Contains("no edge leads to it"), Error);
}

TEST_CASE("bfs options: what is understood, and wrong usage") {
  const Options options = std::get<Options>(
      parse({"--kronecker", "12", "--edge-factor", "8", "--roots", "3", "--cache", "1M", "--page", "4K", "--verify"}));
  CHECK(options.scale == 12);
  CHECK(options.edge_factor == 8);
  CHECK(options.roots == 3);
  CHECK(options.cache_bytes == 1 << 20);
  CHECK(options.page_bytes == 4096);
  CHECK(options.verify);
  CHECK(std::get<Options>(parse({"roads", "--root", "a", "--directed"})).root == "a");
  CHECK(status_of({"--help"}) == 0);
  CHECK(status_of({}) == 2);
  CHECK(status_of({"roads", "--kronecker", "3"}) == 2);
  CHECK(status_of({"roads", "--root", "a", "--roots", "2"}) == 2);
  CHECK(status_of({"--kronecker", "40"}) == 2);
  CHECK(status_of({"roads", "--edge-factor", "3"}) == 2);
  CHECK(status_of({"roads", "--cache", "256K", "--page", "64K"}) == 2);
  CHECK(std::get<Options>(parse({"roads"})).format == TextFormat::edge_list);
  CHECK(std::get<Options>(parse({"roads.gr"})).format == TextFormat::dimacs);
  CHECK(std::get<Options>(parse({"roads.mtx"})).format == TextFormat::matrix_market);
  CHECK(std::get<Options>(parse({"roads.txt", "--format", "gr"})).format == TextFormat::dimacs);
  CHECK(status_of({"roads", "--format", "dot"}) == 2);
  CHECK(status_of({"--kronecker", "3", "--format", "gr"}) == 2);
}

}  // namespace coracle::bfs::bfs_test
