// `coracle run` with programs that know nothing of Coracle.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "runtime/pvas/address_space.hpp"
#include "tests/cli/command.hpp"

namespace run_test {

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

bool none_exists(const std::vector<pid_t>& pids) {
  return std::none_of(pids.begin(), pids.end(), exists);
}

}  // namespace

TEST_CASE("coracle run: every rank runs the program with its arguments and its number") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command(
        {"run", "-n", "3", "--place", placement, "sh", "-c", "echo \"<$CORACLE_RANK $0 $1>\"", "--seed", "two words"});
    CHECK(command.wait() == 0);
    for (const char* line : {"<0 --seed two words>\n", "<1 --seed two words>\n", "<2 --seed two words>\n"})
      CHECK(count_of(command.output(), line) == 1);
    CHECK(command.errors().empty());
  }
}

TEST_CASE("coracle run: -np N, as users of mpirun write it, is -n N; the program's own words stay as they are") {
  for (const char* option : {"-np", "--np"}) {
    CAPTURE(option);
    Command command({"run", option, "3", "--place", "process", "sh", "-c", "echo \"<$0 $1>\"", option, "7"});
    CHECK(command.wait() == 0);
    CHECK_MESSAGE(count_of(command.output(), std::string("<") + option + " 7>\n") == 3, command.output());
    CHECK_MESSAGE(command.errors().empty(), command.errors());
  }
}

TEST_CASE("coracle run: 240 ranks of /bin/ls") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-n", "240", "--place", placement, "/bin/ls", "-d", "/etc"});
    CHECK(command.wait() == 0);
    CHECK(count_of(command.output(), "/etc\n") == 240);
    CHECK_MESSAGE(command.errors().empty(), command.errors());
  }
}

TEST_CASE("coracle run: a rank that exits with another status than 0 ends the job with that status") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-v", "-n", "3", "--place", placement, "sh", "-c",
                     "test $CORACLE_RANK = 2 && exit 5; sleep 1000 & wait"});
    CHECK(command.wait() == 5);
    CHECK(command.errors().find("coracle: rank 2 (pid ") != std::string::npos);
    CHECK(command.errors().find(") exited with status 5\n") != std::string::npos);
    CHECK(command.errors().find("coracle: job ended, exit status 5\n") != std::string::npos);
    REQUIRE(command.ranks().size() == 3);
    CHECK(none_exists(command.ranks()));
  }
}

TEST_CASE("coracle run: a rank that is killed ends the job with 128 + signal") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command(
        {"run", "-n", "3", "--place", placement, "sh", "-c", "test $CORACLE_RANK = 1 && kill -9 $$; sleep 1000"});
    CHECK(command.wait() == 128 + SIGKILL);
    CHECK_MESSAGE(command.errors().find(") was killed by SIGKILL") != std::string::npos, command.errors());
  }
}

TEST_CASE("coracle run: processes that a rank has started end with the job") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-n", "2", "--place", placement, "sh", "-c",
                     "if test $CORACLE_RANK = 0; then sleep 1000 & echo $!; fi; read -t 1 word; sleep 1; exit 3"});
    CHECK(command.wait() == 3);
    const pid_t grandchild = static_cast<pid_t>(std::atol(command.output().c_str()));
    REQUIRE(grandchild > 1);
    CHECK(soon([&] { return !exists(grandchild); }));
  }
}

TEST_CASE("coracle run: the first signal ends the job in order, the second at once") {
  for (const std::string& placement : process_placements()) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      CAPTURE(placement);
      CAPTURE(signal);
      Command command({"run", "-v", "-n", "2", "--place", placement, "sleep", "1000"});
      REQUIRE(command.says("rank 1 is process"));
      command.signal(signal);
      CHECK(command.wait() == 128 + signal);
      CHECK(command.errors().find(": ending the job\n") != std::string::npos);
      CHECK(none_exists(command.ranks()));
    }
    Command stubborn(
        {"run", "-v", "-n", "2", "--place", placement, "sh", "-c", "trap '' TERM; echo ready; sleep 1000"});
    REQUIRE(soon([&] { return count_of(stubborn.output(), "ready") == 2; }));
    stubborn.signal(SIGINT);
    stubborn.signal(SIGINT);
    CHECK(stubborn.wait() == 128 + SIGINT);
    CHECK(none_exists(stubborn.ranks()));
  }
}

TEST_CASE("coracle run: ranks that ignore SIGTERM are killed") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-v", "-n", "2", "--place", placement, "sh", "-c", "trap '' TERM; echo ready; sleep 1000"});
    REQUIRE(soon([&] { return count_of(command.output(), "ready") == 2; }));
    command.signal(SIGTERM);
    CHECK(command.wait() == 128 + SIGTERM);
    CHECK(none_exists(command.ranks()));
  }
}

TEST_CASE("coracle run: kill -9 of the launcher leaves no process and no shared memory behind") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-v", "-n", "3", "--place", placement, "sh", "-c", "sleep 1000 & echo $!; wait"});
    REQUIRE(soon([&] { return command.ranks().size() == 3 && count_of(command.output(), "\n") == 3; }));
    std::vector<pid_t> pids = command.ranks();
    REQUIRE(pids.size() == 3);
    std::istringstream grandchildren(command.output());
    for (pid_t pid = 0; grandchildren >> pid;) pids.push_back(pid);
    REQUIRE(pids.size() == 6);
    command.signal(SIGKILL);
    CHECK(command.wait() == 128 + SIGKILL);
    CHECK(soon([&] { return std::none_of(pids.begin(), pids.end(), runs); }));
  }
}

TEST_CASE("coracle run: --timeout ends a job with status 124") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-v", "-n", "2", "--timeout", "300ms", "--place", placement, "sleep", "1000"});
    CHECK(command.wait() == 124);
    CHECK(command.errors().find("the job has not ended within 300 ms") != std::string::npos);
    CHECK(count_of(command.errors(), "does not use Coracle") == 2);
    CHECK(none_exists(command.ranks()));
  }
}

TEST_CASE("coracle run: a job that ended in time is not timed out, though its launcher saw that only after the limit") {
  Command command({"run", "-v", "-n", "2", "--timeout", "3s", "--place", "process", "sleep", "1"});
  REQUIRE(soon([&command] { return command.ranks().size() == 2; }));
  command.signal(SIGSTOP);
  ::usleep(4'000'000);
  command.signal(SIGCONT);
  CHECK(command.wait() == 0);
  CHECK(command.errors().find("has not ended") == std::string::npos);
}

TEST_CASE("coracle run: with enough cores every rank has one of its own, unless --bind none") {
  cpu_set_t cpus;
  REQUIRE(::sched_getaffinity(0, sizeof cpus, &cpus) == 0);
  const std::vector<std::string> print{"sh", "-c", "grep Cpus_allowed_list /proc/self/status"};
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    std::vector<std::string> arguments{"run", "-n", "2", "--place", placement};
    arguments.insert(arguments.end(), print.begin(), print.end());
    Command pinned(arguments);
    REQUIRE(pinned.wait() == 0);
    std::istringstream words(pinned.output());
    std::string name;
    std::string first;
    std::string second;
    words >> name >> first >> name >> second;
    CHECK((CPU_COUNT(&cpus) < 2) == (first == second));
    arguments.insert(arguments.begin() + 1, {"--bind", "none"});
    Command free_to_move(arguments);
    REQUIRE(free_to_move.wait() == 0);
    std::istringstream more_words(free_to_move.output());
    more_words >> name >> first >> name >> second;
    CHECK(first == second);
  }
}

TEST_CASE("coracle run: with --bind share ranks that outnumber the cores are spread over them evenly") {
  cpu_set_t cpus;
  REQUIRE(::sched_getaffinity(0, sizeof cpus, &cpus) == 0);
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    const std::string ranks = std::to_string(2 * CPU_COUNT(&cpus));
    Command command({"run", "--bind", "share", "-n", ranks, "--place", placement, "sh", "-c",
                     "grep Cpus_allowed_list /proc/self/status"});
    REQUIRE(command.wait() == 0);
    std::map<std::string, int> ranks_on;
    std::istringstream words(command.output());
    for (std::string name, core; words >> name >> core;) ++ranks_on[core];
    int most = 0;
    int least = 2 * CPU_COUNT(&cpus);
    for (const auto& [core, count] : ranks_on) {
      most = std::max(most, count);
      least = std::min(least, count);
    }
    // A core may have several of the processors that are counted here.
    CHECK(most == least);
    CHECK(most >= 2);
    CHECK(most * static_cast<int>(ranks_on.size()) == 2 * CPU_COUNT(&cpus));
  }
}

TEST_CASE("coracle run: --place thread says when a program does not use Coracle") {
  for (const char* placement : {"thread", "sim"}) {
    Command command({"run", "-n", "4", "--place", placement, "echo", "once"});
    CHECK(command.wait() == 0);
    CHECK(command.output() == "once\n");
    CHECK(command.errors().find("does not use Coracle") != std::string::npos);
  }
}

TEST_CASE(
    "coracle run: CORACLE_HUGE_PAGES is heard by ranks of a shared address space, and a misspelt one is refused") {
  if (!coracle::internals::pvas::probe().available) return;
  const std::vector<std::string> job{"run", "-n", "1", test_program("pvas-checks")};
  for (const auto& [variable, check] :
       {std::pair{"CORACLE_HUGE_PAGES=yes", "huge_pages"}, std::pair{"CORACLE_HUGE_PAGES=no", "small_pages"}}) {
    std::vector<std::string> checked = job;
    checked.emplace_back(check);
    Command good(checked, {variable});
    CHECK_MESSAGE(good.wait() == 0, good.errors());
  }
  Command bad(job, {"CORACLE_HUGE_PAGES=never"});
  CHECK(bad.wait() != 0);
  CHECK_MESSAGE(
      bad.errors().find("CORACLE_HUGE_PAGES is \"never\"; it may be yes (the default) or no") != std::string::npos,
      bad.errors());
}

TEST_CASE("coracle run: how collectives go is taken from the environment, and what can't be meant is refused") {
  const std::vector<std::string> job{"run", "-v", "-n", "2", "--place", "thread", test_program("misbehave"), "nothing"};
  Command good(job, {"CORACLE_BROADCAST=competitive,ring,chunk=64K", "CORACLE_ALL_REDUCE=ring", "CORACLE_TUNING="});
  CHECK(good.wait() == 0);
  CHECK_MESSAGE(good.errors().find("coracle: collectives: broadcast=competitive,ring,chunk=64K all_reduce=ring\n") !=
                    std::string::npos,
                good.errors());
  for (const auto& [variable, text] :
       {std::pair{"CORACLE_BROADCAST=fast", "CORACLE_BROADCAST: \"fast\" is none of plain, pipelined, competitive"},
        std::pair{"CORACLE_SCAN=bruck", "CORACLE_SCAN: \"bruck\" is no way of scan; there are automatic, doubling"}}) {
    Command bad(job, {variable});
    CHECK(bad.wait() == 2);
    CHECK_MESSAGE(bad.errors().find(text) != std::string::npos, bad.errors());
  }
  Command missing(job, {"CORACLE_TUNING=/nowhere/tuning"});
  CHECK(missing.wait() == 0);
  CHECK_MESSAGE(missing.errors().find("coracle: warning: CORACLE_TUNING names /nowhere/tuning, which holds nothing") !=
                    std::string::npos,
                missing.errors());
}

}  // namespace run_test
