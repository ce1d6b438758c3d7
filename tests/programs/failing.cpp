// A program whose ranks meet again and again until a test takes some of them away: `failing WHAT [WHAT...]`. At SIGUSR2
// rank I does the I-th WHAT (the last one where there are fewer). Each says "under way" once all have met.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coracle/coracle.hpp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

using namespace coracle;
using namespace coracle::internals;

namespace {

std::string what;
std::atomic<bool> asked{false};

// In the handler, so that nothing of the rank ends before.
void on_signal(int) {
  volatile int* null = nullptr;
  if (what == "segv") *null = 1;
  if (what == "abort") std::abort();
  if (what == "exit 7") std::_Exit(7);
  if (what == "kill") ::raise(SIGKILL);
  asked = true;
}

/// Leaves its own process group to a child, for one that a second child leads.
void leave_group() {
  ::signal(SIGTERM, SIG_IGN);
  if (::fork() == 0) {
    for (;;) ::pause();
  }
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setpgid(0, 0);
    for (;;) ::pause();
  }
  while (::setpgid(leader, leader) != 0) ::usleep(1000);
  ::setpgid(0, leader);
  std::printf("left for %d\n", static_cast<int>(leader));
  std::fflush(stdout);
}

Task<> app(Rank& self) {
  ::signal(SIGUSR2, on_signal);
  co_await self.world().barrier();
  if (what == "leave its group") leave_group();
  std::printf("rank %u is under way\n", self.id());
  std::fflush(stdout);
  for (;;) {
    co_await self.world().barrier();
    co_await sleep_for(std::chrono::milliseconds(1));
    if (asked && what == "error") throw std::runtime_error("an error of its own");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto rank = static_cast<int>(rank_from_environment());
  what = argv[std::min(rank + 1, argc - 1)];
  return run(argc, argv, app);
}
