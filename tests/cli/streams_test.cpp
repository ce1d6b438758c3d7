// `coracle run --label`, `--output` and `--stdin`.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/places.hpp"

namespace streams_test {

namespace {

/// A job with these options and this script for each rank.
std::vector<std::string> job(const std::string& placement, const std::vector<std::string>& options,
                             const std::string& script) {
  std::vector<std::string> arguments{"run", "--place", placement};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"sh", "-c", script});
  return arguments;
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A pipe that holds `text`; its reading end, to be closed.
int pipe_with(const std::string& text) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  return ends[0];
}

/// What the ranks of `arguments` say that they have read.
std::string what_is_read(const std::vector<std::string>& arguments, int input_fd) {
  Command command(arguments, {}, input_fd);
  CHECK(command.wait() == 0);
  CHECK_MESSAGE(command.errors().empty(), command.errors());
  ::close(input_fd);
  std::vector<std::string> lines;
  std::istringstream stream(command.output());
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line + ";";
  return all;
}

const std::string kSayWhatIsRead = "read word; echo $CORACLE_RANK:$word";

}  // namespace

TEST_CASE("coracle run --label: each line of both streams begins with its rank, and lines are whole") {
  constexpr int kLines = 300;
  // In pieces, so that lines of other ranks come between.
  const std::string script =
      "i=0; while [ $i -lt 300 ]; do printf 'line '; printf '%s of ' $i; echo $CORACLE_RANK; "
      "i=$((i+1)); done; echo to errors >&2; printf 'no end'";
  for (const std::string& placement : process_placements()) {
    for (const char* nodes : {"1", "2"}) {
      CAPTURE(placement);
      CAPTURE(nodes);
      Command command(job(placement, {"--label", "-n", "3", "--nodes", nodes}, script));
      CHECK(command.wait() == 0);
      std::map<int, int> next;
      std::istringstream lines(command.output());
      for (std::string line; std::getline(lines, line);) {
        const int rank = line.size() > 1 ? line[1] - '0' : -1;
        const int number = next[rank]++;
        const std::string text =
            number < kLines ? "line " + std::to_string(number) + " of " + line.substr(1, 1) : "no end";
        REQUIRE(line == "[" + line.substr(1, 1) + "] " + text);
      }
      CHECK(next == std::map<int, int>{{0, kLines + 1}, {1, kLines + 1}, {2, kLines + 1}});
      for (const char* line : {"[0] to errors\n", "[1] to errors\n", "[2] to errors\n"})
        CHECK_MESSAGE(command.errors().find(line) != std::string::npos, command.errors());
    }
  }
}

TEST_CASE("coracle run --label: what a rank has said before it failed stands before the verdict") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command(
        job(placement, {"--label", "-n", "2"}, "test $CORACLE_RANK = 1 && { echo alas >&2; exit 3; }; sleep 9"));
    CHECK(command.wait() == 3);
    const std::size_t said = command.errors().find("[1] alas\n");
    CHECK(said < command.errors().find("exited with status 3"));
    CHECK_MESSAGE(said != std::string::npos, command.errors());
  }
}

TEST_CASE("coracle run --label: ranks whose output nobody reads any more are told so, as without labels") {
  Command command({"run", "-n", "1", "--place", "process", "sh", "-c",
                   "\"$0\" run --label -n 1 --place process yes | head -n 1",
                   coracle::internals::test::in_build("apps/coracle")});
  CHECK(command.wait() == 0);
  CHECK(command.output() == "[0] y\n");
  CHECK_MESSAGE(command.errors().find("was killed by SIGPIPE") != std::string::npos, command.errors());
}

TEST_CASE("coracle run --output: a file for each rank, with both streams") {
  const std::string folder = std::filesystem::temp_directory_path() / "coracle-streams-test";
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    std::filesystem::remove_all(folder);
    Command command(job(placement, {"--output", folder + "/100%%/%n.%r", "-n", "3", "--nodes", "2"},
                        "echo out $CORACLE_RANK; echo err >&2; echo out"));
    CHECK(command.wait() == 0);
    CHECK(command.output().empty());
    CHECK_MESSAGE(command.errors().empty(), command.errors());
    CHECK(contents(folder + "/100%/0.0") == "out 0\nerr\nout\n");
    CHECK(contents(folder + "/100%/0.1") == "out 1\nerr\nout\n");
    CHECK(contents(folder + "/100%/1.2") == "out 2\nerr\nout\n");
  }
  Command refused(job("process", {"--output", folder + "/100%%/0.0/%r", "-n", "1"}, "true"));
  CHECK(refused.wait() == 1);
  CHECK_MESSAGE(refused.errors().find("can't write a rank's output to " + folder) != std::string::npos,
                refused.errors());
  std::filesystem::remove_all(folder);
}

TEST_CASE("coracle run --stdin: one rank reads, or all, or none") {
  for (const std::string& placement : process_placements()) {
    for (const char* nodes : {"1", "2"}) {
      CAPTURE(placement);
      CAPTURE(nodes);
      const auto read_by = [&](const char* who, int input_fd) {
        return what_is_read(job(placement, {"-n", "3", "--nodes", nodes, "--stdin", who}, kSayWhatIsRead), input_fd);
      };
      CHECK(read_by("0", pipe_with("hey\n")) == "0:hey;1:;2:;");
      CHECK(read_by("2", pipe_with("hey\n")) == "0:;1:;2:hey;");
      CHECK(read_by("all", pipe_with("hey\n")) == "0:hey;1:hey;2:hey;");
      CHECK(read_by("none", pipe_with("hey\n")) == "0:;1:;2:;");
      const int file = ::memfd_create("input", MFD_CLOEXEC);
      REQUIRE(::write(file, "skipped\nhey\n", 12) == 12);
      ::lseek(file, 8, SEEK_SET);
      CHECK(read_by("all", file) == "0:hey;1:hey;2:hey;");
    }
  }
}

TEST_CASE("coracle run --stdin all: ranks of other hosts read all of it, too, before they do anything else") {
  const std::string shell = std::filesystem::temp_directory_path() / "coracle-streams-shell";
  std::ofstream(shell) << "#!/bin/sh\nshift; exec \"$@\"\n";
  std::filesystem::permissions(shell, std::filesystem::perms::owner_all);
  const auto read_by_all = [&](const std::string& script, int input_fd) {
    const std::vector<std::string> options{"--hosts", "a:1,b:2", "--ssh", shell, "--interface", "lo", "--stdin", "all"};
    return what_is_read(job("process", options, script), input_fd);
  };
  CHECK(read_by_all(kSayWhatIsRead, pipe_with("hey\n")) == "0:hey;1:hey;2:hey;");
  CHECK(read_by_all(kSayWhatIsRead, pipe_with("")) == "0:;1:;2:;");
  // More than a launcher queues for another, from the middle of a file on.
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  const std::string lines(5 << 20, '\n');
  REQUIRE(::write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()));
  ::lseek(file, 1 << 20, SEEK_SET);
  CHECK(read_by_all("echo $CORACLE_RANK:$(wc -l)", file) == "0:4194304;1:4194304;2:4194304;");
  std::filesystem::remove(shell);
}

TEST_CASE("coracle run --stdin: a rank reads what is typed at a terminal, to its end") {
  for (const std::string& placement : process_placements()) {
    for (const char* nodes : {"1", "2"}) {
      CAPTURE(placement);
      CAPTURE(nodes);
      int keyboard = -1;
      int terminal = -1;
      REQUIRE(::openpty(&keyboard, &terminal, nullptr, nullptr, nullptr) == 0);
      Command command(job(placement, {"-n", "2", "--nodes", nodes, "--stdin", "1"},
                          "while read word; do echo $CORACLE_RANK got $word; done; echo $CORACLE_RANK end"),
                      {}, terminal);
      REQUIRE(::write(keyboard, "one\n", 4) == 4);
      CHECK(soon([&command] { return command.output().find("1 got one\n") != std::string::npos; }));
      REQUIRE(::write(keyboard, "two\n\x04", 5) == 5);
      CHECK(command.wait() == 0);
      // The other rank, which has nothing to read, may end between any two lines.
      const std::string said = command.output();
      const std::size_t end = said.find("1 end\n");
      CHECK_MESSAGE(end != std::string::npos, said);
      CHECK_MESSAGE(said.find("1 got two\n") < end, said);
      CHECK_MESSAGE(said.find("0 end\n") != std::string::npos, said);
      ::close(keyboard);
      ::close(terminal);
    }
  }
}

TEST_CASE("coracle run: wishes for streams that can't be are told with how to mend them") {
  struct Refusal {
    std::vector<std::string> options;
    std::string message;
  };
  const std::vector<Refusal> refusals{
      {{"--output", "log"}, "--output log: several ranks would write to one file; put %r, the rank, into its name"},
      {{"--output", "log.%n"}, "--output log.%n: several ranks would write to one file"},
      {{"--output", "log.%h"}, "--output log.%h: %h in a file's name: there are %r (rank), %n (node) and %%"},
      {{"--output", "log.%r", "--label"}, "--output: each rank has a file of its own, which needs no labels"},
      {{"--stdin", "2"}, "--stdin 2: must be a rank (0 to 1), all or none"},
      {{"--stdin", "some"}, "--stdin some: must be a rank"},
      {{"--place", "thread", "--label"}, "--label: the ranks of --place thread are one process"},
      {{"--place", "sim", "--output", "%r"}, "--output: the ranks of --place sim are one process"},
  };
  for (const Refusal& refusal : refusals) {
    CAPTURE(refusal.message);
    std::vector<std::string> arguments{"run", "-n", "2"};
    arguments.insert(arguments.end(), refusal.options.begin(), refusal.options.end());
    arguments.emplace_back("true");
    Command command(arguments);
    CHECK(command.wait() == 2);
    CHECK_MESSAGE(command.errors().find(refusal.message) != std::string::npos, command.errors());
  }
}

}  // namespace streams_test
