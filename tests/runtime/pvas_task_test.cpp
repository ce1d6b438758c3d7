// What ordinary programs do works in tasks, with and without redirected system calls.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "pvas_fixture.hpp"

namespace pvas_task_test {

using coracle::internals::SpawnOptions;
using coracle::internals::pvas::AddressSpace;
using coracle::internals::pvas::Mode;
using coracle::internals::test::command;
using coracle::internals::test::helper;

namespace {

void run_checks(AddressSpace& space, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(space.wait(space.spawn(command({helper("pvas-checks"), name}))).text() == "exit status 0");
  }
}

void run_all_checks(AddressSpace& space) {
  run_checks(space, {"threads", "exceptions", "dlopen", "popen", "posix_spawn", "fork", "exec", "signals", "identity",
                     "rseq", "stack", "mappings", "allocation", "system_v", "uring"});
  CHECK(space.wait(space.spawn(command({helper("pvas-checks"), "atexit"}))).code == 42);
}

}  // namespace

TEST_CASE("pvas: threads, exceptions, dlopen, children, signals and memory work in a task") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  run_all_checks(space);
}

TEST_CASE("pvas: the same in rlimit mode") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create({.force_rlimit_mode = true});
  CHECK(space.mode() == Mode::rlimit);
  run_all_checks(space);
  run_checks(space, {"brk_guard"});
}

TEST_CASE("pvas: with redirected calls, a task has a brk of its own and room for huge pages") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  if (space.mode() != Mode::patched) {
    MESSAGE("skipped: " << space.mode_reason());
    return;
  }
  run_checks(space, {"brk", "large_mappings"});
}

TEST_CASE("pvas: data of 8 MiB and more is advised to have huge pages, unless the launch says no") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  if (space.mode() != Mode::patched) {
    MESSAGE("skipped: " << space.mode_reason());
    return;
  }
  run_checks(space, {"huge_pages"});
  SpawnOptions without = command({helper("pvas-checks"), "small_pages"});
  without.huge_pages = false;
  CHECK(space.wait(space.spawn(without)).text() == "exit status 0");
}

TEST_CASE("pvas: tasks that use memory hard at the same time do not meet") {
  CORACLE_NEEDS_PVAS();
  for (const bool rlimit : {false, true}) {
    AddressSpace space = AddressSpace::create({.force_rlimit_mode = rlimit});
    std::vector<pid_t> pids;
    for (int round = 0; round < 3; ++round) {
      for (const char* name : {"mappings", "allocation", "threads"}) {
        pids.push_back(space.spawn(command({helper("pvas-checks"), name})));
      }
    }
    for (const pid_t pid : pids) CHECK(space.wait(pid).text() == "exit status 0");
  }
}

TEST_CASE("pvas: unmodified programs of the system run") {
  CORACLE_NEEDS_PVAS();
  AddressSpace space = AddressSpace::create();
  const std::vector<std::vector<std::string>> programs = {
      {"/bin/bash", "-c", "x=$(for i in 1 2 3; do echo $i; done | sort -r | head -1); test $x = 3"},
      {"/usr/bin/perl", "-e",
       "my @all = map { $_ * 2 } 1..200000; my $out = `echo sub`; exit($out eq \"sub\\n\" ? 0 : 1)"},
  };
  for (const auto& arguments : programs) {
    if (!std::filesystem::exists(arguments.front())) {
      MESSAGE("skipped: " << arguments.front() << " is not installed");
      continue;
    }
    CAPTURE(arguments.front());
    CHECK(space.wait(space.spawn(command(arguments))).text() == "exit status 0");
  }
}

}  // namespace pvas_task_test
