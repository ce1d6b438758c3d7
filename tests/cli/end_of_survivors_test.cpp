// `coracle run --survive`: what ends a job although it survives the loss of ranks, also of several nodes, and also when
// it has survived a failure that weighs more.
#include <doctest/doctest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"

namespace end_of_survivors_test {

namespace {

bool contains_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A folder with a command in place of ssh: it runs what it is given here, and on host `b` it says what no launcher
/// says as soon as it is told to.
class FakeShell {
 public:
  FakeShell() {
    REQUIRE(::mkdtemp(folder_.data()) != nullptr);
    std::ofstream(command()) << "#!/bin/sh\n"
                                "host=$1; shift\n"
                                "test $host = b || exec \"$@\"\n"
                                "exec 3<&0\n"
                                "\"$@\" <&3 &\n"
                                "while ! test -e $0.babble; do kill -0 $! 2>/dev/null || exit 0; sleep 0.1; done\n"
                                "printf '\\000\\000\\000\\000\\377'\n"
                                "exec >&-\n"
                                "wait\n";
    std::filesystem::permissions(command(), std::filesystem::perms::owner_all);
  }
  ~FakeShell() { std::filesystem::remove_all(folder_); }
  FakeShell(const FakeShell&) = delete;
  FakeShell& operator=(const FakeShell&) = delete;

  std::string command() const { return folder_ + "/shell"; }
  void babble() const { std::ofstream(command() + ".babble") << "now"; }

 private:
  std::string folder_ = (std::filesystem::temp_directory_path() / "coracle-shell.XXXXXX").string();
};

/// Four ranks that run a shell's script. None of the jobs here ends by itself, and the time limit gives another status.
std::vector<std::string> words(const std::vector<std::string>& options, const std::string& script) {
  std::vector<std::string> all{"run", "-v", "-n", "4", "--place", "process", "--survive", "--timeout", "40s"};
  all.insert(all.end(), options.begin(), options.end());
  all.insert(all.end(), {"sh", "-c", script});
  return all;
}

/// Rank 1 is killed, rank 2 ends without Coracle a while later, and the others wait for ever.
std::string script_of_unattached() {
  return "case $CORACLE_RANK in 1) kill -9 $$;; 2) sleep 1;; *) exec " + test_program("misbehave") +
         " loop $CORACLE_RANK;; esac";
}

void check_no_rank_is_left(const Command& command) {
  for (const pid_t pid : command.ranks()) CHECK_FALSE(runs(pid));
}

}  // namespace

// What ended it weighed less than the crash before, and so it went on.
TEST_CASE("coracle run --survive: a rank that never comes to coracle::run ends a job that has survived a crash") {
  for (const char* nodes : {"1", "2", "4"}) {
    CAPTURE(nodes);
    Command command(words({"--nodes", nodes}, script_of_unattached()));
    CHECK(command.wait() == 128 + SIGKILL);
    CHECK_MESSAGE(contains_text(command.errors(), ") was killed by SIGKILL"), command.errors());
    CHECK_MESSAGE(contains_text(command.errors(), "coracle: rank 2 (pid "), command.errors());
    CHECK(contains_text(command.errors(), ") ended without calling coracle::run"));
    CHECK(contains_text(command.errors(), "coracle: job ended, exit status 137\n"));
    check_no_rank_is_left(command);
  }
}

TEST_CASE("coracle run --hosts: a rank that never comes to coracle::run is named with its own node") {
  const FakeShell shell;
  for (const bool survives : {false, true}) {
    CAPTURE(survives);
    std::vector<std::string> options{"run",         "--hosts", "a:1,b:1",   "--ssh", shell.command(),
                                     "--interface", "lo",      "--timeout", "40s"};
    if (survives) options.emplace_back("--survive");
    options.insert(options.end(), {test_program("misbehave"), "no coracle", "1"});
    Command command(options);
    CHECK(command.wait() == 1);
    CHECK_MESSAGE(contains_text(command.errors(), "coracle: node 1 (b): rank 1 (pid "), command.errors());
    CHECK(contains_text(command.errors(), ") ended without calling coracle::run"));
  }
}

TEST_CASE("coracle run --survive: a node whose launcher makes no sense ends a job that has survived a crash") {
  const FakeShell shell;
  Command command(words({"--hosts", "a,b", "--ssh", shell.command(), "--interface", "lo"},
                        "test $CORACLE_RANK = 1 && kill -9 $$; sleep 1000"));
  REQUIRE(command.says(") was killed by SIGKILL"));
  shell.babble();
  CHECK(command.wait() == 128 + SIGKILL);
  CHECK_MESSAGE(contains_text(command.errors(), "coracle: node 1 (b): malformed message of a launcher: "),
                command.errors());
  CHECK(contains_text(command.errors(), "coracle: job ended, exit status 137\n"));
  check_no_rank_is_left(command);
}

// It ended one node, and was the verdict for ever: the others went on, and neither a time limit nor Ctrl-C ended them.
TEST_CASE("coracle run --survive: a signal to the launcher of a node ends all nodes, and is told as that") {
  Command command(words({"--nodes", "2"}, "sleep 1000"));
  REQUIRE(soon([&] { return command.ranks().size() == 4; }));
  ::kill(parent_of(command.ranks().front()), SIGTERM);
  CHECK(command.wait() == 128 + SIGTERM);
  CHECK_MESSAGE(contains_text(command.errors(), "coracle: the launcher of node "), command.errors());
  CHECK(contains_text(command.errors(), " got SIGTERM: ending the job\n"));
  check_no_rank_is_left(command);
}

}  // namespace end_of_survivors_test
