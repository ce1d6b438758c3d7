// The loop of a launcher: signals are awaited, on epoll, and nothing is left behind for the next one.
#include "runtime/launch/launcher_loop.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/core/event.hpp"
#include "runtime/launch/guardian.hpp"

namespace coracle::internals::launcher_loop_test {

namespace {

Task<> raise_soon(int signal) {
  co_await sleep_for(std::chrono::milliseconds(1));
  ::kill(::getpid(), signal);
}

Task<int> two_signals(LauncherLoop& loop, Scope& services, std::vector<int>& seen) {
  ::kill(::getpid(), SIGUSR1);
  seen.push_back(co_await loop.signal());
  services.spawn(raise_soon(SIGHUP));
  seen.push_back(co_await loop.signal());
  co_return 7;
}

Task<int> until_asked(LauncherLoop& loop, Scope& services, Guardian& guardian) {
  ::kill(::getpid(), SIGTSTP);
  services.spawn(raise_soon(SIGTERM));
  co_await loop.asked_to_end(guardian);
  co_return 0;
}

}  // namespace

TEST_CASE("launcher's loop: signals that have come and that come are awaited") {
  for (int round = 0; round < 2; ++round) {
    LauncherLoop loop;
    CHECK(std::string(loop.io().name()) == "epoll and threads");
    std::vector<int> seen;
    CHECK(loop.run([&](Scope& services) { return two_signals(loop, services, seen); }) == 7);
    CHECK(seen == std::vector{SIGUSR1, SIGHUP});
  }
}

TEST_CASE("launcher's loop: only some signals ask for the end") {
  Guardian guardian;
  LauncherLoop loop;
  CHECK(loop.run([&](Scope& services) { return until_asked(loop, services, guardian); }) == 0);
}

}  // namespace coracle::internals::launcher_loop_test
