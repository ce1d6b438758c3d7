// Collectives that are called wrongly: every rank is told both calls, with their places in the program.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/places.hpp"

namespace miscall_test {

namespace {

struct Shape {
  std::vector<std::string> options;
  int ranks;
};

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (const std::string& place : process_placements()) shapes.push_back({{"--place", place}, 2});
  for (const std::string& place : process_placements()) shapes.push_back({{"--place", place}, 6});
  for (const std::string& place : process_placements()) shapes.push_back({{"--place", place, "--nodes", "2"}, 2});
  shapes.push_back({{"--place", "thread"}, 3});
  shapes.push_back({{"--place", "thread", "--nodes", "3"}, 6});
  shapes.push_back({{"--place", "thread", "--transport", "tca"}, 3});
  shapes.push_back({{"--place", "sim"}, 2});
  shapes.push_back({{"--place", "sim"}, 5});
  shapes.push_back({{"--place", "sim", "--nodes", "3"}, 6});
  return shapes;
}

/// "miscall.cpp:12", where the program has the mark.
std::string place_of(const std::string& mark) {
  std::ifstream source(coracle::internals::test::in_source("tests/programs/miscall.cpp"));
  std::string line;
  for (int number = 1; std::getline(source, line); ++number)
    if (line.size() >= mark.size() && line.compare(line.size() - mark.size(), mark.size(), mark) == 0)
      return "miscall.cpp:" + std::to_string(number);
  return "no line of miscall.cpp ends with " + mark;
}

struct Wrong {
  std::string what;
  std::string here;   // the call of most
  std::string there;  // rank 1's
};

/// Whether `rank` is told both calls, or (before that text has come to it) who is: a local member of one that has heard
/// it from another node, or one that exchanges something with a member that has given up.
bool leads_to_both(const std::map<int, std::string>& told, int rank, const std::string& a, const std::string& b) {
  for (std::size_t steps = 0; steps <= told.size(); ++steps) {
    const auto line = told.find(rank);
    if (line == told.end()) return false;
    const std::string& text = line->second;
    if (text.find(a) != std::string::npos && text.find(b) != std::string::npos) return true;
    // Which of them is not known where all wait for each other: the test looks for one who names both.
    if (text.find("failed on another rank of this node, whose error says why") != std::string::npos) return true;
    const std::size_t before = text.find("failed on rank ");
    const std::size_t early = text.find("(rank ");
    if (before != std::string::npos && text.find("whose error says why") != std::string::npos)
      rank = std::atoi(text.c_str() + before + 15);
    else if (early != std::string::npos && text.find("its own error tells why") != std::string::npos)
      rank = std::atoi(text.c_str() + early + 6);
    else
      return false;
  }
  return false;
}

/// What all ranks have said, or have been said to have failed with.
void check_told(const Wrong& wrong, const Shape& shape) {
  std::vector<std::string> arguments{"run", "-n", std::to_string(shape.ranks), "--timeout", "50s"};
  arguments.insert(arguments.end(), shape.options.begin(), shape.options.end());
  arguments.insert(arguments.end(), {test_program("miscall"), wrong.what});
  Command command(arguments);
  const int status = command.wait();
  CAPTURE(status);
  CAPTURE(arguments);
  const std::string text = command.output() + command.errors();
  CAPTURE(text);
  const std::string a = wrong.here + " (" + place_of("// A " + wrong.what) + ")";
  const std::string b =
      wrong.there + (wrong.there.find("nothing") == 0 ? "" : " (" + place_of("// B " + wrong.what) + ")");
  std::map<int, std::string> told;  // by rank
  int ended_by = 0;
  int named = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const bool names_both = line.find(a) != std::string::npos && line.find(b) != std::string::npos;
    const bool is_told = line.find(" is told: ") != std::string::npos;
    if (is_told) told[std::atoi(line.c_str() + line.find("rank ") + 5)] = line;
    named += is_told && names_both ? 1 : 0;
    // One that hears of it only at its end, which ends the job; and in `sim` the report of a deadlock.
    ended_by += (line.find("coracle: rank ") == 0 || line.find("the members of a team") == 0) && names_both ? 1 : 0;
  }
  if (status == 0)
    CHECK(std::ranges::count_if(told, [&](const auto& each) { return leads_to_both(told, each.first, a, b); }) ==
          shape.ranks);
  else
    CHECK(ended_by >= 1);
  CHECK(named + ended_by >= 1);
}

}  // namespace

TEST_CASE("collectives called wrongly: broadcasts with different roots are told of at every rank, with both places") {
  for (const Shape& shape : shapes()) {
    check_told({"roots", "broadcast of 32 bytes, root 0", "broadcast of 32 bytes, root 1"}, shape);
    check_told({"long roots", "broadcast of 2400000 bytes, root 0", "broadcast of 2400000 bytes, root 1"}, shape);
  }
}

TEST_CASE("collectives called wrongly: two different ones are told of by their names, at every rank") {
  for (const Shape& shape : shapes()) {
    check_told({"barrier and all_reduce", "barrier", "all_reduce of 8 bytes"}, shape);
    check_told({"barrier and broadcast", "barrier", "broadcast of 32 bytes, root 0"}, shape);
    check_told({"gather and scatter", "gather of 32 bytes, root 0", "scatter of 32 bytes, root 0"}, shape);
    check_told({"scans", "scan of 32 bytes", "exclusive_scan of 32 bytes"}, shape);
  }
}

TEST_CASE("collectives called wrongly: what split does inside is told of as split") {
  for (const Shape& shape : shapes()) {
    const std::string split = "split of " + std::to_string(32 * shape.ranks) + " bytes";  // what each says, gathered
    check_told({"barrier and split", split, "barrier"}, shape);
  }
}

TEST_CASE("collectives called wrongly: sizes that differ, and a program that ends before the others") {
  for (const Shape& shape : shapes()) {
    check_told({"sizes", "all_reduce of 32 bytes", "all_reduce of 800 bytes"}, shape);
    check_told({"nothing more", "barrier", "nothing more, since its program has ended"}, shape);
  }
}

}  // namespace miscall_test
