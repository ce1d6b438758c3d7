// Which rank is named, and whose status the job ends with, when one fails and others fail because of it: the cause, in
// whatever order their ends become known. Launchers and ranks are held up by hand, so that nothing depends on time.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/sanitized.hpp"

namespace causes_test {

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A job of tests/programs/failing, whose ranks fail when fail() says so.
class Failing {
 public:
  Failing(std::size_t ranks, const char* nodes, const std::vector<std::string>& what)
      : command_(words(ranks, nodes, what)) {
    REQUIRE(soon([&] {
      const std::string text = command_.output();
      return std::count(text.begin(), text.end(), '\n') == static_cast<std::ptrdiff_t>(ranks) && pids(ranks);
    }));
  }
  ~Failing() {
    for (const pid_t pid : stopped_) ::kill(pid, SIGCONT);
  }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;

  Command& command() { return command_; }
  pid_t pid(std::size_t rank) const { return pids_[rank]; }
  std::string name(std::size_t rank) const {
    return "rank " + std::to_string(rank) + " (pid " + std::to_string(pid(rank)) + ")";
  }
  void stop_launcher_of(std::size_t rank) {
    const pid_t launcher = parent_of(pid(rank));
    stopped_.push_back(launcher);
    ::kill(launcher, SIGSTOP);
    REQUIRE(soon([&] { return state_of(launcher) == 'T'; }));
  }
  void continue_launchers() {
    for (const pid_t pid : stopped_) ::kill(pid, SIGCONT);
    stopped_.clear();
  }
  void fail(std::size_t rank) const { ::kill(pid(rank), SIGUSR2); }
  /// With nobody to reap it, the launcher being stopped.
  bool has_ended(std::size_t rank) const {
    return soon([&] { return state_of(pid(rank)) == 'Z'; });
  }

 private:
  static std::vector<std::string> words(std::size_t ranks, const char* nodes, const std::vector<std::string>& what) {
    std::vector<std::string> all{"run",     "-v",        "-n", std::to_string(ranks),  "--nodes", nodes, "--place",
                                 "process", "--silence", "2s", test_program("failing")};
    all.insert(all.end(), what.begin(), what.end());
    return all;
  }
  /// By rank, which need not be the order in which several launchers tell of them.
  bool pids(std::size_t ranks) {
    const std::string text = command_.errors();
    pids_.clear();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::string mark = "rank " + std::to_string(rank) + " is process ";
      const std::size_t at = text.find(mark);
      if (at == std::string::npos) return false;
      pids_.push_back(static_cast<pid_t>(std::atol(text.c_str() + at + mark.size())));
    }
    return true;
  }

  Command command_;
  std::vector<pid_t> pids_;
  std::vector<pid_t> stopped_;
};

/// Lets the traced `pid` run until it is about to exit, and holds it there.
bool hold_at_exit(pid_t pid) {
  constexpr int kExit = SIGTRAP | (PTRACE_EVENT_EXIT << 8);
  int status = 0;
  while (::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
    if (status >> 8 == kExit) return true;
    const bool by_signal = status >> 16 == 0;
    ::ptrace(PTRACE_CONT, pid, nullptr, reinterpret_cast<void*>(std::intptr_t{by_signal ? WSTOPSIG(status) : 0}));
  }
  return false;
}

}  // namespace

TEST_CASE("causes: a rank that was dying when another one's exit became known is named, by crash and by kill -9") {
  struct Way {
    const char* what;
    int status;
    const char* told;
  };
  std::vector<Way> ways{{"abort", 128 + SIGABRT, ") was killed by SIGABRT"},
                        {"kill", 128 + SIGKILL, ") was killed by SIGKILL"}};
  for (const Way& way : ways) {
    CAPTURE(way.what);
    Failing job(2, "1", {way.what, "exit 7"});
    if (::ptrace(PTRACE_SEIZE, job.pid(0), nullptr, reinterpret_cast<void*>(PTRACE_O_TRACEEXIT)) != 0) {
      MESSAGE("skipped: no process may be traced here");
      return;
    }
    job.fail(0);
    REQUIRE(hold_at_exit(job.pid(0)));
    job.fail(1);
    REQUIRE(soon([&] { return !exists(job.pid(1)); }));  // reaped, and so judged
    ::ptrace(PTRACE_DETACH, job.pid(0), nullptr, nullptr);
    CHECK(job.command().wait() == way.status);
    CHECK_MESSAGE(contains(job.command().errors(), "coracle: rank 0 (pid "), job.command().errors());
    CHECK(contains(job.command().errors(), way.told));
    CHECK_MESSAGE(!contains(job.command().errors(), job.name(1)), job.command().errors());
  }
}

TEST_CASE("causes: of two crashes the earlier is named, whatever the ranks' numbers") {
  Failing job(2, "1", {"abort", "segv"});
  if (coracle::internals::test::kSanitized) return;
  job.stop_launcher_of(0);
  job.fail(1);
  REQUIRE(job.has_ended(1));
  job.fail(0);
  REQUIRE(job.has_ended(0));
  job.continue_launchers();
  CHECK(job.command().wait() == 128 + SIGSEGV);
  CHECK_MESSAGE(contains(job.command().errors(), job.name(1) + " was killed by SIGSEGV"), job.command().errors());
  CHECK_FALSE(contains(job.command().errors(), "SIGABRT"));
}

TEST_CASE(
    "causes: a launcher that is late with the cause on its node is still heard when a consequence has been told") {
  struct Way {
    const char* what;
    int status;
    const char* told;
  };
  for (const Way& way :
       {Way{"abort", 128 + SIGABRT, " was killed by SIGABRT"}, Way{"exit 7", 7, " exited with status 7"},
        Way{"kill", 128 + SIGKILL, " was killed by SIGKILL"}}) {
    CAPTURE(way.what);
    Failing job(2, "2", {way.what, "nothing"});
    job.stop_launcher_of(0);
    job.fail(0);
    REQUIRE(job.command().says(job.name(1) + " exited with status 1"));
    job.continue_launchers();
    CHECK(job.command().wait() == way.status);
    CHECK_MESSAGE(contains(job.command().errors(), job.name(0) + way.told), job.command().errors());
  }
}

TEST_CASE("causes: a rank that fails by itself is named before one that fails because of others, in one launcher") {
  for (const char* what : {"exit 7", "error"}) {
    CAPTURE(what);
    // Ranks 0 and 1 on one node, 2 and 3 on the other, where 2 fails because of 0 and 1, and these because of 3.
    Failing job(4, "2", {"nothing", "nothing", "nothing", what});
    job.stop_launcher_of(3);
    job.fail(3);
    REQUIRE(job.has_ended(3));
    REQUIRE(job.has_ended(2));
    job.continue_launchers();
    CHECK(job.command().wait() == (std::string(what) == "error" ? 1 : 7));
    CHECK_MESSAGE(contains(job.command().errors(), job.name(3) + " exited with status"), job.command().errors());
    CHECK_FALSE(contains(job.command().errors(), job.name(2)));
  }
}

}  // namespace causes_test
