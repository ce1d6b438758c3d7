// What a guardian kills when its launcher is gone: the process groups it has been told of, however many and when.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "runtime/job/group_table.hpp"
#include "runtime/launch/guardian.hpp"
#include "runtime/launch/processes.hpp"
#include "runtime/pvas/address_space.hpp"

namespace coracle::internals::guardian_groups_test {
namespace {

using namespace std::chrono_literals;

/// A process that leads a group of its own and waits to be killed.
pid_t start_group() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    for (;;) ::pause();
  }
  REQUIRE(pid > 0);
  ::setpgid(pid, pid);
  return pid;
}

/// The life of a launcher that is killed when its guardian has been stopped from before the first word.
[[noreturn]] void be_killed_launcher(pid_t kept, pid_t removed) {
  Guardian guardian;
  ::kill(guardian.pid(), SIGSTOP);
  ::waitpid(guardian.pid(), nullptr, WUNTRACED);
  guardian.add(removed);
  constexpr int kOthers = 2000;  // more than a socket holds
  for (int i = 0; i < kOthers; ++i) {
    guardian.add(kept);
    guardian.remove(kept);
  }
  guardian.add(kept);
  guardian.remove(removed);
  ::kill(guardian.pid(), SIGCONT);
  ::raise(SIGKILL);
  ::_exit(1);
}

}  // namespace

TEST_CASE("guardian: it kills the groups it was told of last, though it could not listen meanwhile, and no others") {
  const pid_t kept = start_group();
  const pid_t removed = start_group();
  const pid_t launcher = ::fork();
  if (launcher == 0) be_killed_launcher(kept, removed);
  REQUIRE(launcher > 0);
  ::waitpid(launcher, nullptr, 0);
  const auto status = wait_for_end(kept, 20s);
  CHECK((status && status->signal == SIGKILL));
  CHECK_FALSE(wait_for_end(removed, 0s).has_value());
  for (const pid_t pid : {kept, removed}) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

TEST_CASE("guardian: it knows of a group before the program runs that may start others in it") {
  Guardian guardian;
  REQUIRE(guardian.table() != nullptr);
  SpawnOptions options;
  options.program = "/bin/sh";
  options.arguments = {"sh", "-c", "exit 3"};
  options.new_process_group = true;
  options.group_table = guardian.table();
  const pid_t process = spawn_process(options);  // returns when the program runs
  CHECK(group_table::contains(guardian.table(), process));
  CHECK(wait_for_end(process, 20s).has_value());
  guardian.remove(process);
  CHECK_FALSE(group_table::contains(guardian.table(), process));
  if (!pvas::probe().available) return;
  pvas::AddressSpace space = pvas::AddressSpace::create();
  const pid_t task = space.spawn(options);
  CHECK(space.wait(task) == ExitStatus{3, 0});  // its program has run
  CHECK(group_table::contains(guardian.table(), task));
  guardian.remove(task);
}

}  // namespace coracle::internals::guardian_groups_test
