// Create, spawn, wait, destroy; how tasks end; how they share memory; what is refused.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "pvas_fixture.hpp"
#include "runtime/pvas/mapping_budget.hpp"

namespace pvas_address_space_test {

using coracle::internals::Errc;
using coracle::internals::Error;
using coracle::internals::ExitStatus;
using coracle::internals::SpawnOptions;
using coracle::internals::pvas::AddressSpace;
using coracle::internals::test::command;
using coracle::internals::test::error_of;
using coracle::internals::test::helper;
using coracle::internals::test::hex;

namespace {

std::string drain(int fd) {
  std::string text;
  std::array<char, 512> buffer;
  ssize_t got;
  while ((got = ::read(fd, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(fd);
  return text;
}

/// Leaves its end to be waited for.
bool is_running(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

}  // namespace

TEST_CASE("pvas: a task's exit status or signal reaches the root") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  CHECK(space.wait(space.spawn(command({"/bin/true"}))) == ExitStatus{0, 0});
  CHECK(space.wait(space.spawn(command({helper("pvas-small"), "exit", "7"}))) == ExitStatus{7, 0});
  CHECK(space.wait(space.spawn(command({helper("pvas-checks"), "abort"}))) == ExitStatus{-1, SIGABRT});
  CHECK(space.wait(space.spawn(command({helper("pvas-checks"), "segv"}))) == ExitStatus{-1, SIGSEGV});
  CHECK(space.wait(space.spawn(command({helper("pvas-checks"), "overflow"}))) == ExitStatus{-1, SIGSEGV});
  CHECK(space.wait(space.spawn(command({"sh", "-c", "kill -TERM $$"}))) == ExitStatus{-1, SIGTERM});
  CHECK(space.task_count() == 0);
}

TEST_CASE("pvas: a task that crashes leaves the others alive") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  std::atomic<int> arrived{0};
  std::array<int, 2> pipe;
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  std::vector<pid_t> others;
  for (int i = 0; i < 5; ++i) {
    SpawnOptions options = command({helper("pvas-small"), "meet", hex(&arrived)});
    options.stdin_fd = pipe[0];
    others.push_back(space.spawn(options));
  }
  while (arrived.load() != 5) ::usleep(1000);
  for (const char* how : {"abort", "segv", "overflow"}) {
    CHECK(space.wait(space.spawn(command({helper("pvas-checks"), how}))).signal != 0);
  }
  for (const pid_t pid : others) CHECK(is_running(pid));
  ::close(pipe[0]);
  ::close(pipe[1]);
  for (const pid_t pid : others) CHECK(space.wait(pid).ok());
}

TEST_CASE("pvas: one task writes into another task's global through a pointer") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  std::atomic<int*> place{nullptr};
  const pid_t target = space.spawn(command({helper("pvas-small"), "publish", hex(&place), "1234"}));
  const pid_t writer = space.spawn(command({helper("pvas-small"), "put", hex(&place), "1234"}));
  CHECK(space.wait(writer).ok());
  CHECK(space.wait(target).ok());
}

TEST_CASE("pvas: the root's own waitpid and reaped() take a task back") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  const pid_t pid = space.spawn(command({"/bin/true"}));
  int status = -1;
  REQUIRE(::waitpid(-1, &status, 0) == pid);
  CHECK(space.task_count() == 1);
  CHECK(space.reaped(pid));
  CHECK(space.task_count() == 0);
  CHECK_FALSE(space.reaped(pid));
}

TEST_CASE("pvas: with SIGCHLD ignored a task's end is seen, though not how, and its memory comes back") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const pid_t pid = space.spawn(command({"/bin/true"}));
  CHECK(error_of([&] { space.wait(pid); }).find("cannot tell how task") != std::string::npos);
  ::signal(SIGCHLD, before);
  CHECK(space.task_count() == 0);
}

TEST_CASE("pvas: destroy kills what still runs") {
  CORACLE_NEEDS_PVAS();
  const std::size_t before = coracle::internals::pvas::count_mappings();
  pid_t pid = 0;
  {
    AddressSpace space = AddressSpace::create();
    pid = space.spawn(command({helper("pvas-checks"), "sleep"}));
    AddressSpace moved = std::move(space);
    CHECK(moved.task_count() == 1);
  }
  CHECK(::kill(pid, 0) == -1);
  CHECK(coracle::internals::pvas::count_mappings() <= before + 2);  // The root's own heap may have grown.
}

TEST_CASE("pvas: standard descriptors are redirected, also when they are swapped") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  std::array<int, 2> in;
  std::array<int, 2> out;
  std::array<int, 2> err;
  for (auto* pipe : {&in, &out, &err}) REQUIRE(::pipe2(pipe->data(), O_CLOEXEC) == 0);
  SpawnOptions options = command({helper("pvas-checks"), "standard_fds"});
  options.stdin_fd = in[0];
  options.stdout_fd = out[1];
  options.stderr_fd = err[1];
  const pid_t pid = space.spawn(options);
  REQUIRE(::write(in[1], "line\n", 5) == 5);
  for (const int fd : {in[0], in[1], out[1], err[1]}) ::close(fd);
  CHECK(space.wait(pid).ok());
  CHECK(drain(out[0]) == "out line\n");
  CHECK(drain(err[0]) == "err line\n");
}

TEST_CASE("pvas: descriptors follow exec's rule, but for those to keep") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  REQUIRE(::dup3(2, 10, O_CLOEXEC) == 10);
  REQUIRE(::dup3(2, 11, O_CLOEXEC) == 11);
  REQUIRE(::dup2(2, 12) == 12);
  SpawnOptions options = command({helper("pvas-checks"), "descriptors"});
  options.keep_fds = {10};
  CHECK(space.wait(space.spawn(options)).ok());
  for (const int fd : {10, 11, 12}) CHECK(::close(fd) == 0);  // The root's are untouched.
}

TEST_CASE("pvas: a task gets its name, CPU, process group and environment") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  SpawnOptions options = command({"sh", "-c",
                                  "read name </proc/$$/comm; test \"$name\" = rank-7 && test \"$COLOUR\" = blue && "
                                  "grep -q 'Cpus_allowed_list:.0$' /proc/$$/status && "
                                  "test $(cut -d' ' -f5 /proc/$$/stat) = $$"});
  options.name = "rank-7";
  options.cpus = {0};
  options.new_process_group = true;
  options.environment.push_back("COLOUR=blue");
  CHECK(space.wait(space.spawn(options)).ok());
}

TEST_CASE("pvas: a task dies with its root when it is asked to") {
  CORACLE_NEEDS_PVAS();
  std::array<int, 2> pipe;
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const pid_t root = ::fork();
  REQUIRE(root >= 0);
  if (root == 0) {
    AddressSpace space = AddressSpace::create();
    SpawnOptions options = command({helper("pvas-checks"), "sleep"});
    options.stdout_fd = pipe[1];
    options.parent_death_signal = SIGKILL;
    space.spawn(options);
    ::kill(::getpid(), SIGKILL);
  }
  ::close(pipe[1]);
  CHECK(drain(pipe[0]).empty());  // Ends when the last holder of the pipe, the task, is gone.
  CHECK(::waitpid(root, nullptr, 0) == root);
}

TEST_CASE("pvas: a task lives on when its root ends without taking it along") {
  CORACLE_NEEDS_PVAS();
  std::array<int, 2> pipe;
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const pid_t root = ::fork();
  REQUIRE(root >= 0);
  if (root == 0) {
    AddressSpace space = AddressSpace::create();
    SpawnOptions options = command({helper("pvas-checks"), "orphan"});
    options.stdout_fd = pipe[1];
    std::array<int, 2> ready;
    if (::pipe2(ready.data(), O_CLOEXEC) != 0) ::_exit(2);
    options.stderr_fd = ready[1];
    space.spawn(options);
    char byte;
    ::_exit(::read(ready[0], &byte, 1) == 1 ? 0 : 3);  // The task has seen its first parent.
  }
  ::close(pipe[1]);
  CHECK(drain(pipe[0]) == "fine\n");
  CHECK(::waitpid(root, nullptr, 0) == root);
}

TEST_CASE("pvas: a second address space in the same process is refused") {
  CORACLE_NEEDS_PVAS();
  const AddressSpace space = AddressSpace::create();
  CHECK(error_of([] { AddressSpace::create(); }).find("has one already") != std::string::npos);
}

}  // namespace pvas_address_space_test
