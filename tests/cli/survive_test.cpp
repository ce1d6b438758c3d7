// `coracle run --survive`: what the others make of a rank that dies at a bad moment, or is stopped.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/brief.hpp"
#include "tests/cli/command.hpp"

namespace survive_test {

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A job of four ranks of tests/programs/dying.cpp, of which rank 1 dies.
void check_survivors_of(const std::string& where) {
  for (const std::string& placement : process_placements()) {
    CAPTURE(where);
    CAPTURE(placement);
    Command command(
        {"run", "-n", "4", "--place", placement, "--survive", "--timeout", "40s", test_program("dying"), where});
    CHECK(command.wait() == 128 + SIGKILL);
    for (const char* rank : {"rank 0 goes on\n", "rank 2 goes on\n", "rank 3 goes on\n"})
      CHECK_MESSAGE(contains(command.output(), rank), command.output(), command.errors());
  }
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The letter in /proc/PID/stat, and the parent.
struct State {
  char letter = '?';
  pid_t parent = 0;
};
State process_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  State state;
  rest >> state.letter >> state.parent;
  return state;
}

pid_t pid_of(const Command& command, std::uint32_t rank) {
  const std::string text = command.errors();
  const std::string mark = "rank " + std::to_string(rank) + " is process ";
  const std::size_t at = text.find(mark);
  REQUIRE(at != std::string::npos);
  return static_cast<pid_t>(std::atol(text.c_str() + at + mark.size()));
}

/// A job of tests/programs/ceaseless.cpp with a silence limit of 1 s, whose ranks all are under way.
struct Job {
  Job(const std::string& ranks, const std::string& nodes, const std::string& placement,
      const std::vector<std::string>& more = {}, const std::string& how = "")
      : command(words(ranks, nodes, placement, more, how)) {
    const std::size_t count = std::stoul(ranks);
    REQUIRE(soon([&] { return command.ranks().size() == count && count_of(command.output(), "under way") == count; }));
  }
  static std::vector<std::string> words(const std::string& ranks, const std::string& nodes,
                                        const std::string& placement, const std::vector<std::string>& more,
                                        const std::string& how) {
    std::vector<std::string> all{"run",     "-v",      "-n",        ranks, "--nodes",   nodes,
                                 "--place", placement, "--silence", "1s",  "--timeout", "50s"};
    all.insert(all.end(), more.begin(), more.end());
    all.push_back(test_program("ceaseless"));
    if (!how.empty()) all.push_back(how);
    return all;
  }
  pid_t pid_of(std::uint32_t rank) const { return survive_test::pid_of(command, rank); }
  /// Nobody has been blamed: the job goes on until it is asked to end.
  void check_goes_on() {
    ::usleep(500'000);  // for a blame to be told
    for (const pid_t pid : command.ranks()) CHECK(exists(pid));
    CHECK_MESSAGE(!contains(command.errors(), "stopped"), command.errors());
    CHECK_MESSAGE(!contains(command.errors(), "lost"), command.errors());
    command.signal(SIGINT);
    CHECK(command.wait() == 128 + SIGINT);
  }

  Command command;
};

void signal_all(const std::vector<pid_t>& pids, int number) {
  for (const pid_t pid : pids) ::kill(pid, number);
}

void await_state(const std::vector<pid_t>& pids, char letter) {
  for (const pid_t pid : pids) REQUIRE(soon([&] { return process_of(pid).letter == letter; }));
}

constexpr unsigned kBeyondTheLimit = 2'500'000;  // us

/// What peers on the same node are told, who hear of it from their launcher; others may find the connection reset.
constexpr const char* kStoppedText =
    "its process was stopped while others ran, for longer than the silence limit (--silence), and killed\n";

/// Nodes and placements in which stops are tried, which take seconds each; brief: each of them once.
std::vector<std::pair<std::string, std::string>> shapes() {
  const std::vector<std::string> placements = process_placements();
  if (coracle::internals::test::is_brief()) return {{"1", placements.front()}, {"3", placements.back()}};
  std::vector<std::pair<std::string, std::string>> made;
  for (const std::string& placement : placements)
    for (const char* nodes : {"1", "3"}) made.emplace_back(nodes, placement);
  return made;
}

}  // namespace

TEST_CASE("coracle run: a rank that is stopped for longer than the silence limit ends the job, and is named") {
  for (const auto& [nodes, placement] : shapes()) {
    CAPTURE(nodes);
    CAPTURE(placement);
    Job job("3", nodes, placement);
    const pid_t victim = job.pid_of(1);
    ::kill(victim, SIGSTOP);
    CHECK(job.command.wait() == 1);
    const std::string what = "coracle: rank 1 (pid " + std::to_string(victim) +
                             ") was stopped by SIGSTOP, while others ran and waited for it for 1 s: it is given up for "
                             "lost, and was killed (continue it sooner, by SIGCONT, or let others wait longer, by "
                             "--silence)\n";
    CHECK_MESSAGE(contains(job.command.errors(), what), job.command.errors());
    for (const pid_t pid : job.command.ranks()) CHECK_FALSE(exists(pid));
  }
}

TEST_CASE("coracle run --survive: a rank that is stopped for too long is lost to all, and killed; the others go on") {
  for (const auto& [nodes, placement] : shapes()) {
    CAPTURE(nodes);
    CAPTURE(placement);
    Job job("3", nodes, placement, {"--survive"}, "catch");
    ::kill(job.pid_of(1), SIGSTOP);
    CHECK(job.command.wait() == 1);
    CHECK_MESSAGE(count_of(job.command.output(), "on without rank 1: ") == 2, job.command.output());
    if (nodes == "1") CHECK_MESSAGE(count_of(job.command.output(), kStoppedText) == 2, job.command.output());
    CHECK_MESSAGE(contains(job.command.errors(), ") was stopped by SIGSTOP, while others ran"), job.command.errors());
    for (const pid_t pid : job.command.ranks()) CHECK_FALSE(exists(pid));
  }
}

TEST_CASE("coracle run: ranks that are all stopped, whether by hand or by Ctrl-Z, are not given up") {
  for (const auto& [nodes, placement] : shapes()) {
    CAPTURE(nodes);
    CAPTURE(placement);
    Job by_hand("3", nodes, placement);
    Job by_key("3", nodes, placement);
    signal_all(by_hand.command.ranks(), SIGSTOP);
    by_key.command.signal(SIGTSTP);
    await_state(by_hand.command.ranks(), 'T');
    await_state(by_key.command.ranks(), 'T');
    ::usleep(kBeyondTheLimit);
    signal_all(by_hand.command.ranks(), SIGCONT);
    by_key.command.signal(SIGCONT);
    by_hand.check_goes_on();
    by_key.check_goes_on();
  }
}

TEST_CASE("coracle run: a launcher that was stopped, too, does not count what it has slept through") {
  for (const auto& [nodes, placement] : shapes()) {
    CAPTURE(nodes);
    CAPTURE(placement);
    Job job("3", nodes, placement);
    std::vector<pid_t> stopped{job.pid_of(1)};
    stopped.push_back(process_of(stopped.front()).parent);
    if (nodes != "1") stopped.insert(stopped.end(), {job.pid_of(0), job.pid_of(2)});  // who would miss the launcher
    signal_all(stopped, SIGSTOP);
    await_state(stopped, 'T');
    ::usleep(kBeyondTheLimit);
    signal_all({stopped.rbegin(), stopped.rend()}, SIGCONT);  // the launcher first
    job.check_goes_on();
  }
}

TEST_CASE("coracle run: a rank that a debugger holds is not given up") {
  for (const auto& [nodes, placement] : shapes()) {
    CAPTURE(nodes);
    CAPTURE(placement);
    Job job("3", nodes, placement);
    const pid_t victim = job.pid_of(1);
    // A stop before the debugger comes is one that the launcher is told of.
    for (const bool first_stopped : {false, true}) {
      CAPTURE(first_stopped);
      if (first_stopped) ::kill(victim, SIGSTOP);
      if (first_stopped) await_state({victim}, 'T');
      if (::ptrace(PTRACE_ATTACH, victim, nullptr, nullptr) != 0) {
        MESSAGE("skipped: this process may not debug others here");
        ::kill(victim, SIGCONT);
        continue;
      }
      REQUIRE(::waitpid(victim, nullptr, __WALL) == victim);
      ::usleep(kBeyondTheLimit);
      REQUIRE(::ptrace(PTRACE_DETACH, victim, nullptr, nullptr) == 0);
      ::kill(victim, SIGCONT);
    }
    job.check_goes_on();
  }
}

TEST_CASE("coracle run: a rank that computes for longer than the silence limit is not lost, whatever is sent to it") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-n", "2", "--nodes", "2", "--place", placement, "--silence", "1s", "--timeout", "50s",
                     test_program("ceaseless"), "busy"});
    CHECK_MESSAGE(command.wait() == 0, command.errors());
  }
}

TEST_CASE("coracle run --survive: the connections of a rank that dies are closed at once") {
  for (const std::string& placement : process_placements()) {
    CAPTURE(placement);
    Command command({"run", "-v", "-n", "4", "--nodes", "2", "--place", placement, "--survive", "--silence", "40s",
                     "--transport", "tcp", "--timeout", "50s", test_program("ceaseless"), "catch"});
    REQUIRE(soon([&] { return command.ranks().size() == 4 && count_of(command.output(), "under way") == 4; }));
    ::kill(pid_of(command, 1), SIGKILL);
    CHECK(command.wait() == 128 + SIGKILL);
    // Those of the other node are told by TCP, and not by an answer of its launcher, whom nobody asks for a while.
    CHECK_MESSAGE(count_of(command.output(), "on without rank 1: rank 1 on ") == 2, command.output());
    std::istringstream lines(command.output());
    for (std::string line; std::getline(lines, line);)
      if (contains(line, "on without rank 1: rank 1 on "))
        CHECK_MESSAGE((!contains(line, "killed by signal") && !contains(line, "ended with status")), line);
  }
}

TEST_CASE("coracle run --survive: a rank that dies while it wakes its peers leaves none of them asleep") {
  check_survivors_of("ring");
  check_survivors_of("ring io");
}

TEST_CASE("coracle run --survive: a rank that dies while it writes a message does not silence those behind it") {
  check_survivors_of("write");
  check_survivors_of("answer");
}

TEST_CASE("coracle run --survive: a rank that dies while it comes to a collective leaves none of the others waiting") {
  check_survivors_of("arrive");
}

TEST_CASE(
    "coracle run --survive: a rank that dies while it helps to copy what it sends leaves its receiver not waiting") {
  Command command(
      {"run", "-n", "2", "--place", "process", "--survive", "--timeout", "40s", test_program("dying"), "help"});
  CHECK(command.wait() == 128 + SIGKILL);
  CHECK_MESSAGE(contains(command.output(), "rank 0 goes on\n"), command.output(), command.errors());
  if (!contains(command.errors(), "has taken a chunk")) MESSAGE("ranks had no core each, or no room to help");
}

TEST_CASE("coracle run --survive: a rank that dies while it combines values leaves none of the others waiting") {
  for (const char* kind : {"reduce", "reduce of two", "reduce_scatter", "scan", "exclusive_scan"})
    check_survivors_of(kind);
}

}  // namespace survive_test
