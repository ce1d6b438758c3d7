// Graph files: what is read, and what is said about what can't be.
#include "apps/asp/readers.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>

#include "apps/asp/text_lines.hpp"
#include "runtime/core/error.hpp"
#include "tests/apps/reader_seeds.hpp"
#include "tests/apps/temporary_folder.hpp"

namespace coracle::asp::reader_test {

using namespace internals;

namespace {

Graph seed_graph(std::string_view name) {
  for (const test::ReaderSeed& seed : test::kReaderSeeds) {
    if (seed.name == name) return parse_graph(std::string(name), seed.text, seed.format);
  }
  FAIL("no seed " << name);
  return Graph(0, {});
}

// "from>to weight" of every arc.
std::set<std::string> arcs_of(const Graph& graph) {
  std::set<std::string> arcs;
  for (const Arc& arc : graph.arc_list()) {
    std::string weight = std::to_string(arc.weight);
    weight.resize(weight.find('.') + 2);
    arcs.insert(graph.name(arc.source) + ">" + graph.name(arc.target) + " " + weight);
  }
  return arcs;
}

using Arcs = std::set<std::string>;

std::string complaint(GraphFormat format, std::string_view text) {
  try {
    parse_graph("file", text, format);
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
  return "no complaint";
}

std::string load_complaint(const std::string& path) {
  try {
    load_text(path);
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
  return "no complaint";
}

}  // namespace

TEST_CASE("readers: DIMACS arcs keep direction and weight") {
  CHECK(arcs_of(seed_graph("diamond.gr")) == Arcs{"1>2 1.0", "2>4 5.0", "1>3 2.5", "3>4 2.0", "1>4 9.0"});
}

TEST_CASE("readers: Matrix Market general entries are arcs, symmetric ones both ways, patterns weigh 1") {
  CHECK(arcs_of(seed_graph("real.mtx")) == Arcs{"1>2 0.5", "2>3 100.0", "3>3 4.0"});
  CHECK(arcs_of(seed_graph("pattern.mtx")) == Arcs{"2>1 1.0", "1>2 1.0", "3>2 1.0", "2>3 1.0"});
}

TEST_CASE("readers: an edge list takes words as vertices and 1 as weight by default") {
  CHECK(arcs_of(seed_graph("roads.txt")) == Arcs{"Ulm>Augsburg 80.0", "Augsburg>München 76.5", "München>Ulm 1.0"});
}

TEST_CASE("readers: dpkg's dependencies go to installed packages, alternatives and providers") {
  const Graph graph = seed_graph("status");
  CHECK(graph.vertices() == 5);
  CHECK(arcs_of(graph) ==
        Arcs{"app>libc6 1.0", "app>postfix 1.0", "app>dpkg 1.0", "libc6>libgcc-s1 1.0", "libgcc-s1>libc6 1.0"});
}

TEST_CASE("readers: Windows line ends and a missing last newline do no harm") {
  CHECK(parse_dimacs("f", "p sp 2 1\r\na 1 2 3\r\n").arcs() == 1);
  CHECK(parse_edge_list("f", "a b 3").arcs() == 1);
}

TEST_CASE("readers: DIMACS complaints name file, line, fault and remedy") {
  const auto said = [](std::string_view text) { return complaint(GraphFormat::dimacs, text); };
  CHECK(said("") == "file: the file is empty; give a file with a graph");
  CHECK(said("p sp 2 3\na 1 2 1\na 2 1 1\n") ==
        "file:3: the file ends after 2 of 3 arcs; it seems cut off: get the whole file again");
  CHECK(said("p sp 2 1\na 1 2 1\na 2 1 1\n") ==
        "file:3: more arcs than the 1 declared; correct the number in the `p sp` line");
  CHECK(said("p sp 2 1\na 1 2 -7\n") ==
        "file:2: the weight \"-7\" is negative; shortest paths need weights of at least 0: shift or drop such arcs");
  CHECK(said("p sp 2 1\na 1 3 7\n") ==
        "file:2: the arc's end is \"3\", outside 1 to 2; correct the number, or the sizes that the file declares");
  CHECK(said("p sp 2 1\na 1 x 7\n") == "file:2: the arc's end is \"x\"; write a whole number from 1 to 2");
  CHECK(said("p sp 2 1\na 1 2 nan\n") ==
        "file:2: the weight is \"nan\", which is not a number; write a number such as 3 or 0.25");
  CHECK(said("p sp 2 1\na 1 2\n") ==
        "file:2: the line ends before its weight; complete the line, or get the whole file again");
  CHECK(said("a 1 2 3\n").starts_with("file:1: an arc before the problem line; "));
  CHECK(said("p sp 2 0\np sp 2 0\n").starts_with("file:2: a second problem line; "));
  CHECK(said("p max 2 0\n").starts_with("file:1: the problem kind is \"max\"; "));
  CHECK(said("p sp 99999999999 1\n").starts_with("file:1: the number of vertices is \"99999999999\", outside 1 to "));
  CHECK(said("p sp 2 1\na 1 2 1e31\n").starts_with("file:2: the weight \"1e31\" does not fit; "));
  CHECK(said("p sp 2 1\na 1 2 inf\n").starts_with("file:2: the weight \"inf\" does not fit; "));
  CHECK(said("p sp 2 1\na 1 2 1 1\n").starts_with("file:2: unexpected \"1\" at the end of the line; "));
  CHECK(said("c only\n").starts_with("file:1: the file ends without a problem line; "));
  CHECK(said("\x7f"
             "ELF\x02\x01\n")
            .starts_with("file:1: the line starts with \"\\x7fELF\\x02\\x01\"; "));
  CHECK(said(std::string_view("a\0b\n", 4)).starts_with("file:1: holds a zero byte"));
}

TEST_CASE("readers: Matrix Market complaints name file, line, fault and remedy") {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  const auto said = [](const std::string& text) { return complaint(GraphFormat::matrix_market, text); };
  CHECK(said("1 1 1\n").starts_with("file:1: the first line is no `%%MatrixMarket matrix ...`; "));
  CHECK(said("%%MatrixMarket matrix array real general\n").starts_with("file:1: the layout is \"array\"; "));
  CHECK(said("%%MatrixMarket matrix coordinate complex general\n").starts_with("file:1: the field is \"complex\"; "));
  CHECK(
      said("%%MatrixMarket matrix coordinate real hermitian\n").starts_with("file:1: the symmetry is \"hermitian\"; "));
  CHECK(said(head).starts_with("file:1: the file ends before its sizes; "));
  CHECK(said(head + "2 3 1\n") == "file:2: the matrix is 2 x 3; a graph's adjacency matrix is square");
  CHECK(said(head + "2 2 2\n1 2 1\n").starts_with("file:3: the file ends after 1 of 2 entries; it seems cut off"));
  CHECK(said(head + "2 2 1\n1 2 1\n1 2 1\n").starts_with("file:4: more entries than the 1 declared; "));
  CHECK(said(head + "2 2 1\n0 2 1\n").starts_with("file:3: the row is \"0\", outside 1 to 2; "));
  CHECK(said(head + "2 2 1\n1 2 -0.5\n").starts_with("file:3: the weight \"-0.5\" is negative; "));
  CHECK(said(head + "1000000 1000000 1000000000000\n")
            .starts_with("file:2: the file ends after 0 of 1000000000000 entries"));
}

TEST_CASE("readers: edge list complaints name file, line, fault and remedy") {
  const auto said = [](std::string_view text) { return complaint(GraphFormat::edge_list, text); };
  CHECK(said("# nothing\n").starts_with("file:1: the file ends without an edge; "));
  CHECK(said("a b\nc\n").starts_with("file:2: the line ends before its arc's end; "));
  CHECK(said("a b c\n").starts_with("file:1: the weight is \"c\", which is not a number; "));
  CHECK(said("a b 1 2\n").starts_with("file:1: unexpected \"2\" at the end of the line; "));
}

TEST_CASE("readers: dpkg complaints name file, line, fault and remedy") {
  const auto said = [](std::string_view text) { return complaint(GraphFormat::dpkg, text); };
  CHECK(said("Package: a\nStatus: install ok inst").starts_with("file:2: the last line has no end; "));
  CHECK(said("Package: a\n").starts_with("file:1: package \"a\" has no Status field; the file seems cut off"));
  CHECK(said("Status: install ok installed\n\n").starts_with("file:2: the paragraph above has no Package field; "));
  CHECK(said("hello world\n").starts_with("file:1: no `Field: value` but \"hello world\"; "));
  CHECK(said(" more\n").starts_with("file:1: a continued line without a field above it; "));
  CHECK(said("Package: a\nPackage: b\n").starts_with("file:2: a second Package field; "));
  CHECK(
      said("Package: a\nStatus: purge ok not-installed\n\n").starts_with("file:3: the file ends without an installed"));
}

TEST_CASE("readers: a missing file, a folder and a compressed file are named") {
  const test::ReaderSeed& seed = test::kReaderSeeds[0];
  const apps_test::TemporaryFolder folder;
  CHECK(load_complaint("/nonexistent.gr") ==
        "/nonexistent.gr: No such file or directory; give the path of a readable graph file");
  CHECK(load_complaint("/").starts_with("/: Is a directory; "));
  std::ofstream(folder.file("x.gz")) << "\x1f\x8b rest";
  CHECK(load_complaint(folder.file("x.gz")).ends_with("x.gz: is compressed by gzip; unpack it first with gunzip"));
  std::filesystem::resize_file(folder.file("x.gz"), std::uintmax_t{5} << 30);  // of which only the beginning is read
  CHECK(load_complaint(folder.file("x.gz")).ends_with("x.gz: is compressed by gzip; unpack it first with gunzip"));
  std::ofstream(folder.file(std::string(seed.name))) << seed.text;
  CHECK(read_graph(folder.file(std::string(seed.name)), format_of_path(seed.name)).arcs() == 5);
}

TEST_CASE("readers: formats go by extension") {
  CHECK(format_of_path("a/b.gr") == GraphFormat::dimacs);
  CHECK(format_of_path("b.mtx") == GraphFormat::matrix_market);
  CHECK(format_of_path("/var/lib/dpkg/status") == GraphFormat::dpkg);
  CHECK(format_of_path("b.csv") == GraphFormat::edge_list);
}

TEST_CASE("readers: this machine's own dpkg status is a graph") {
  const std::string path = "/var/lib/dpkg/status";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no ", path, " here");
    return;
  }
  const Graph graph = read_graph(path, GraphFormat::dpkg);
  CHECK(graph.vertices() > 10);
  CHECK(graph.arcs() > graph.vertices() / 2);
}

}  // namespace coracle::asp::reader_test
