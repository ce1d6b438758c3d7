// `coracle run --nodes K`: several nodes on this machine, each with a launcher of its own.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "tests/cli/command.hpp"

namespace nodes_test {

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool none_exists(const std::vector<pid_t>& pids) {
  return std::none_of(pids.begin(), pids.end(), exists);
}

}  // namespace

TEST_CASE("coracle run --nodes: every rank runs, and rank 0 has the standard input") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-n", "5", "--nodes", "2", "--place", placement, "sh", "-c", "echo \"<$CORACLE_RANK>\""});
    CHECK(command.wait() == 0);
    for (const char* line : {"<0>\n", "<1>\n", "<2>\n", "<3>\n", "<4>\n"}) CHECK(count_of(command.output(), line) == 1);
    CHECK_MESSAGE(command.errors().empty(), command.errors());
  }
}

TEST_CASE("coracle run -v: which transport joins whom, and why") {
  Command one({"run", "-v", "-n", "2", "--place", "process", "true"});
  CHECK(one.wait() == 0);
  CHECK(contains(one.errors(), "coracle: within a node: direct ("));
  CHECK_FALSE(contains(one.errors(), "between nodes"));
  Command two({"run", "-v", "-n", "3", "--nodes", "2", "--place", "process", "--transport", "tcp", "true"});
  CHECK(two.wait() == 0);
  CHECK(contains(two.errors(), "coracle: within a node: direct ("));
  CHECK(contains(two.errors(), "coracle: between nodes: tcp (--transport tcp)"));
  CHECK(contains(two.errors(), "coracle: node 1: 1 rank on "));
}

TEST_CASE("coracle run --nodes: the key of the job is not for others to see") {
  Command command({"run", "-v", "-n", "2", "--nodes", "2", "--place", "process", "sh", "-c",
                   "tr '\\0' ' ' </proc/$PPID/cmdline; tr '\\0' '\\n' </proc/$PPID/environ | grep -c CORACLE_; env | "
                   "grep ^CORACLE_"});
  command.wait();
  std::istringstream lines(command.output());
  for (std::string line; std::getline(lines, line);) {
    // 32 hexadecimal digits would be a key.
    std::size_t digits = 0;
    for (const char letter : line) {
      digits = std::isxdigit(static_cast<unsigned char>(letter)) != 0 ? digits + 1 : 0;
      CHECK(digits < 32);
    }
  }
  CHECK(contains(command.output(), "coracle node --stdin"));
}

TEST_CASE("coracle run --nodes: the first rank that fails ends the ranks of all nodes") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-v", "-n", "4", "--nodes", "3", "--place", placement, "sh", "-c",
                     "test $CORACLE_RANK = 3 && exit 5; sleep 1000 & wait"});
    CHECK(command.wait() == 5);
    CHECK(contains(command.errors(), "coracle: rank 3 (pid "));
    CHECK(contains(command.errors(), ") exited with status 5\n"));
    CHECK(contains(command.errors(), "coracle: job ended, exit status 5\n"));
    CHECK(none_exists(command.ranks()));
    Command killed({"run", "-n", "3", "--nodes", "3", "--place", placement, "sh", "-c",
                    "test $CORACLE_RANK = 1 && kill -9 $$; sleep 1000"});
    CHECK(killed.wait() == 128 + SIGKILL);
    CHECK_MESSAGE(contains(killed.errors(), ") was killed by SIGKILL"), killed.errors());
  }
}

TEST_CASE("coracle run --nodes: a crash on one node is told rather than the exits it causes on others") {
  Command command({"run", "-n", "4", "--nodes", "4", "--place", "process", test_program("misbehave"), "abort", "2"});
  CHECK(command.wait() == 128 + SIGABRT);
  CHECK_MESSAGE(contains(command.errors(), "coracle: rank 2 (pid "), command.errors());
  CHECK(contains(command.errors(), "misbehave"));
}

TEST_CASE("coracle run --nodes: signals and the time limit reach all nodes") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Command command({"run", "-v", "-n", "4", "--nodes", "2", "--place", "process", "sleep", "1000"});
    REQUIRE(soon([&] { return command.ranks().size() == 4; }));
    command.signal(signal);
    CHECK(command.wait() == 128 + signal);
    CHECK(contains(command.errors(), ": ending the job\n"));
    CHECK(none_exists(command.ranks()));
  }
  Command late({"run", "-v", "-n", "4", "--nodes", "2", "--place", "process", "--timeout", "500ms", "sleep", "1000"});
  CHECK(late.wait() == 124);
  CHECK(contains(late.errors(), "the job has not ended within 500 ms"));
  CHECK_MESSAGE(count_of(late.errors(), "does not use Coracle") == 4, late.errors());
  CHECK(none_exists(late.ranks()));
}

TEST_CASE("coracle run --nodes: SIGUSR1 makes the ranks of all nodes report") {
  Command command({"run", "-v", "-n", "3", "--nodes", "3", "--place", "process", test_program("misbehave"), "sleep"});
  REQUIRE(soon([&] { return command.ranks().size() == 3; }));
  const auto reported = [&] {
    command.signal(SIGUSR1);
    ::usleep(200'000);
    const std::string text = command.errors();
    return contains(text, "rank 0: ") && contains(text, "rank 1: ") && contains(text, "rank 2: ");
  };
  CHECK(soon(reported));
  command.signal(SIGTERM);
  CHECK(command.wait() == 128 + SIGTERM);
}

TEST_CASE("coracle run --nodes: kill -9 of the head leaves no process behind") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command(
        {"run", "-v", "-n", "4", "--nodes", "2", "--place", placement, "sh", "-c", "sleep 1000 & echo $!; wait"});
    REQUIRE(soon([&] { return command.ranks().size() == 4 && count_of(command.output(), "\n") == 4; }));
    std::vector<pid_t> pids = command.ranks();
    for (std::size_t i = 0; i < 4; ++i) pids.push_back(parent_of(pids[i]));
    std::istringstream grandchildren(command.output());
    for (pid_t pid = 0; grandchildren >> pid;) pids.push_back(pid);
    REQUIRE(pids.size() == 12);
    command.signal(SIGKILL);
    CHECK(command.wait() == 128 + SIGKILL);
    CHECK(soon([&] { return std::none_of(pids.begin(), pids.end(), runs); }));
  }
}

TEST_CASE("coracle run --nodes: the death of a node's launcher ends the job and names the node") {
  Command command({"run", "-v", "-n", "4", "--nodes", "2", "--place", "process", "sleep", "1000"});
  REQUIRE(soon([&] { return command.ranks().size() == 4; }));
  ::kill(parent_of(command.ranks().front()), SIGKILL);
  CHECK(command.wait() == 1);
  CHECK_MESSAGE(contains(command.errors(), ": its launcher went (killed by signal 9"), command.errors());
  CHECK(soon([&] {
    const auto ranks = command.ranks();
    return std::none_of(ranks.begin(), ranks.end(), runs);
  }));
}

TEST_CASE("coracle run --survive: the others go on without a rank that was killed, on its node and on others") {
  for (const std::string& placement : process_placements()) {
    for (const auto& [nodes, transport] : {std::pair("1", "auto"), std::pair("2", "auto"), std::pair("1", "tca")}) {
      CAPTURE(placement);
      CAPTURE(nodes);
      CAPTURE(transport);
      Command command({"run", "-v", "-n", "4", "--nodes", nodes, "--transport", transport, "--place", placement,
                       "--survive", "--timeout", "40s", test_program("ceaseless"), "catch"});
      REQUIRE(soon([&] { return command.ranks().size() == 4 && count_of(command.output(), "under way") == 4; }));
      std::istringstream lines(command.errors());
      pid_t victim = 0;
      for (std::string line; std::getline(lines, line);)
        if (contains(line, "rank 1 is process "))
          victim = static_cast<pid_t>(std::atol(line.c_str() + line.find("process ") + 8));
      REQUIRE(victim > 1);
      ::kill(victim, SIGKILL);
      CHECK(command.wait() == 128 + SIGKILL);
      for (const char* rank : {"rank 0 goes", "rank 2 goes", "rank 3 goes"})
        CHECK_MESSAGE(contains(command.output(), rank), command.output());
      CHECK_MESSAGE(count_of(command.output(), "on without rank 1: ") == 3, command.output());
      CHECK_MESSAGE(contains(command.errors(), "coracle: rank 1 (pid "), command.errors());
    }
  }
}

TEST_CASE("coracle run --nodes: ranks that are short of descriptors get through, or say how to mend it") {
  for (const char* limit : {"12", "14", "16", "18"}) {
    CAPTURE(limit);
    Command command({"run", "-n", "4", "--nodes", "2", "--place", "thread", "sh", "-c",
                     "ulimit -n " + std::string(limit) + "; exec " + test_program("misbehave") + " not"});
    const int status = command.wait();
    CHECK((status == 0 || status == 1));
    if (status == 1) CHECK_MESSAGE(contains(command.errors(), "raise ulimit -n"), command.errors());
  }
}

// Their neighbour's end was taken for a loss, which the others waited out.
TEST_CASE("coracle run --nodes: ranks that wait at their end for one that computes ask nobody who has ended") {
  Command command({"run", "-n", "18", "--nodes", "18", "--place", "process", "--silence", "90s", "--timeout", "60s",
                   "--stall", "60s", test_program("late_service")});  // they stand still for more than a second
  CHECK(command.wait() == 0);
  CHECK_MESSAGE(command.errors().empty(), command.errors());
}

}  // namespace nodes_test
