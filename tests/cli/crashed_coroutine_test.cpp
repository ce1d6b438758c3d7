// A rank that crashes in a coroutine: its report tells who awaits that one, in every placement.
#include <doctest/doctest.h>
#include <signal.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/places.hpp"
#include "tests/sanitized.hpp"

namespace crashed_coroutine_test {

using coracle::internals::test::in_source;
using coracle::internals::test::kSanitized;

namespace {

/// "suspended.cpp:81", the line of the program that ends with this comment.
std::string place(const std::string& mark) {
  std::ifstream source(in_source("tests/programs/suspended.cpp"));
  std::string line;
  for (int number = 1; std::getline(source, line); ++number)
    if (line.ends_with("// " + mark)) return "suspended.cpp:" + std::to_string(number);
  FAIL("no line of suspended.cpp ends with // ", mark);
  return {};
}

struct Crash {
  std::string what;
  std::string chain;  // up to the program's own first coroutine
  std::string end;
};

std::vector<Crash> crashes() {
  const std::string end = place("end awaits");
  std::vector<Crash> all{
      {"nested",
       "in " + end + " <- " + end + " <- " + place("end_among_others awaits") + " <- " + place("app awaits nested") +
           " <- ",
       "<- main task\n"},
      {"resumed", "in " + place("end_later awaits") + " <- " + place("app awaits resumed") + " <- ", "<- main task\n"},
      {"spawned", "in " + end + " <- a task spawned in a scope\n", ""}};
  // Sanitizers report overflows themselves.
  if (!kSanitized)
    all.push_back({"overflow",
                   "in " + end + " <- " + end + " <- " + place("end_among_others awaits") + " <- " +
                       place("app awaits nested") + " <- ",
                   "<- main task\n"});
  return all;
}

}  // namespace

TEST_CASE("coracle run: the report of a crash tells who awaits the coroutine") {
  std::vector<std::string> placements = process_placements();
  placements.insert(placements.end(), {"thread", "sim"});
  for (const std::string& placement : placements) {
    for (const Crash& crash : crashes()) {
      CAPTURE(placement);
      CAPTURE(crash.what);
      Command command({"run", "-n", "3", "--place", placement, test_program("suspended"), crash.what});
      CHECK(command.wait() == 128 + (crash.what == "overflow" ? SIGSEGV : SIGABRT));
      const std::string errors = command.errors();
      const std::size_t at = errors.find("  " + crash.chain);
      REQUIRE_MESSAGE(at != std::string::npos, errors);
      const std::string line = errors.substr(at, errors.find('\n', at) + 1 - at);
      CHECK_MESSAGE(line.ends_with(crash.end), errors);
      // Beside the crash of rank 1 no rank has one.
      CHECK_MESSAGE(errors.find(crash.chain, at + 3) == std::string::npos, errors);
    }
  }
}

}  // namespace crashed_coroutine_test
