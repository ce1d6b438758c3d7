// asp's command line: what is understood, and that wrong usage ends with 2.
#include "apps/asp/user_interface.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

#include "tests/apps/parse_words.hpp"

namespace coracle::asp::options_test {

using namespace internals;
namespace {

std::variant<Options, int> parse(std::initializer_list<const char*> arguments) {
  return apps_test::parse_words(parse_options, {arguments.begin(), arguments.end()});
}

int status_of(std::initializer_list<const char*> arguments) {
  return apps_test::status_of_words(parse_options, {arguments.begin(), arguments.end()});
}

}  // namespace

TEST_CASE("options: a file, its format, and everything else") {
  const Options options = std::get<Options>(parse({"roads.txt", "--format", "gr", "--verify", "3", "--block", "32",
                                                   "--top", "5", "--json", "out.json", "--progress", "--undirected"}));
  CHECK(options.path == "roads.txt");
  CHECK(options.format == GraphFormat::dimacs);
  CHECK(options.verified_sources == 3);
  CHECK(options.block == 32);
  CHECK(options.top == 5);
  CHECK(options.json_path == "out.json");
  CHECK(options.shows_progress);
  CHECK(options.undirected);
}

TEST_CASE("options: the machine's packages, or a random graph") {
  const Options dpkg = std::get<Options>(parse({"--dpkg"}));
  CHECK(dpkg.path == "/var/lib/dpkg/status");
  CHECK(dpkg.format == GraphFormat::dpkg);
  const Options random = std::get<Options>(parse({"--random", "50", "--degree", "2", "--seed", "9"}));
  CHECK(random.path.empty());
  const Graph graph = load_graph(random);
  CHECK(graph.vertices() == 50);
  CHECK(graph.arcs() == 100);
}

TEST_CASE("options: both directions double the arcs") {
  CHECK(load_graph(std::get<Options>(parse({"--random", "50", "--degree", "2", "--undirected"}))).arcs() == 200);
}

TEST_CASE("options: help ends with 0, wrong usage with 2") {
  CHECK(status_of({"--help"}) == 0);
  CHECK(status_of({}) == 2);
  CHECK(status_of({"a.gr", "--dpkg"}) == 2);
  CHECK(status_of({"--random", "0"}) == 2);
  CHECK(status_of({"--random", "many"}) == 2);
  CHECK(status_of({"--random", "-5"}) == 2);
  CHECK(status_of({"a.gr", "--verify", "-1"}) == 2);
  CHECK(status_of({"a.gr", "--top", "-1"}) == 2);
  CHECK(status_of({"a.gr", "--block", "17"}) == 2);
  CHECK(status_of({"a.gr", "--block", "1024"}) == 2);
  CHECK(status_of({"a.gr", "--block", "-16"}) == 2);
  CHECK(status_of({"a.gr", "--format", "dot"}) == 2);
  CHECK(status_of({"a.gr", "b.gr"}) == 2);
  CHECK(status_of({"a.gr", "--unknown"}) == 2);
}

}  // namespace coracle::asp::options_test
