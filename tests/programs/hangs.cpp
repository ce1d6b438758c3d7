// A program that hangs in the way that its argument names, for the tests of verdicts: these look for the lines with a
// mark at their ends (tests/insight/hangs_test.cpp). Those whose names begin with "slow" only take their time.
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <coracle/coracle.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kLong = 1 << 20;  // of a message that does not go at once

std::string path;  // of files

// --- messages ---

Task<> receives_in_ring(Rank& self) {
  const std::uint32_t right = (self.id() + 1) % self.size();
  co_await self.world().recv_value<int>(right, 7);  // CYCLE OF RECEIVES
}

Task<> sends_in_ring(Rank& self) {
  const std::vector<char> data(kLong);
  std::vector<char> there(kLong);
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  co_await self.world().send(data, right, 7);  // CYCLE OF SENDS
  co_await self.world().recv(there, left, 7);
}

Task<> wrong_tag(Rank& self) {
  if (self.id() == 1) co_await self.world().send_value(1, 0, 4);
  if (self.id() == 0) co_await self.world().recv_value<int>(1, 5);  // WRONG TAG
}

Task<> wrong_tag_of_long(Rank& self) {
  std::vector<char> data(kLong);
  if (self.id() == 1) co_await self.world().send(data, 0, 4);  // SENDS ANOTHER TAG
  if (self.id() == 0) co_await self.world().recv(data, 1, 5);  // WRONG TAG OF LONG
}

Task<> wrong_source(Rank& self) {
  if (self.id() == 1) co_await self.world().send_value(1, 0, 5);
  if (self.id() == 0) co_await self.world().recv_value<int>(2, 5);  // WRONG SOURCE
}

Task<> has_left(Rank& self) {
  if (self.id() == 0) co_await self.world().recv_value<int>(1, 9);  // WAITS FOR ONE THAT HAS LEFT
}

// --- collectives ---

Task<> missing_member(Rank& self) {
  if (self.id() == 1) {
    co_await self.world().recv_value<int>(0, 3);  // MISSING MEMBER
  }
  const double sum = co_await self.world().all_reduce(1.0, std::plus<>());  // MEMBERS WAIT
  static_cast<void>(sum);
}

Task<> two_teams(Rank& self) {
  Team& world = self.world();
  const std::unique_ptr<Team> one = co_await world.split(0, self.id());
  const std::unique_ptr<Team> other = co_await world.split(0, self.id());
  if (self.id() == 0) {
    co_await one->barrier();  // FIRST TEAM FIRST
    co_await other->barrier();
  } else {
    co_await other->barrier();  // OTHER TEAM FIRST
    co_await one->barrier();
  }
}

volatile double result = 0;

[[gnu::noinline]] void compute_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 1000; ++i) result = result + 1e-9;  // COMPUTES
  }
}

Task<> computes(Rank& self) {
  if (self.id() == 1) compute_for(50s);
  co_await self.world().barrier();  // WAITS FOR ONE THAT COMPUTES
}

Task<> is_stopped(Rank& self) {
  if (self.id() == 1) ::raise(SIGSTOP);
  co_await self.world().barrier();  // WAITS FOR ONE THAT IS STOPPED
}

// --- signals, scopes, calls ---

Task<> lost_signal(Rank& self) {
  auto signals = self.allocate_signals(1);
  const auto all = co_await self.world().gather_all(signals.remote());
  if (self.id() == 1) co_await self.raise(all[0]);
  if (self.id() == 0) co_await self.wait(signals[0], 2);  // LOST SIGNAL
}

Task<> wait_for(Event& event) {
  co_await event;  // NEVER SET
}

Task<> scope_body(Scope& scope, Event& event) {
  scope.spawn(wait_for(event));
  co_return;
}

Task<> scope_never_joined(Rank& self) {
  Event event;
  if (self.id() == 0) co_await with_scope(scope_body, std::ref(event));  // NEVER JOINED
}

Task<> lock_both(Mutex& first, Mutex& second) {
  const Mutex::Lock one = co_await first.lock();
  co_await sleep_for(10ms);
  const Mutex::Lock two = co_await second.lock();  // LOCKED BY THE OTHER
}

Task<> mutexes_body(Scope& scope, Mutex& one, Mutex& other) {
  scope.spawn(lock_both(one, other));
  scope.spawn(lock_both(other, one));
  co_return;
}

Task<> two_mutexes(Rank& self) {
  Mutex one;
  Mutex other;
  if (self.id() == 0) co_await with_scope(mutexes_body, std::ref(one), std::ref(other));
}

Task<int> ask_back(Rank& self, std::uint32_t caller);

struct Busy {
  explicit Busy(Rank&) {}
  Mutex mutex;
};

Task<int> ask_back(Rank& self, std::uint32_t caller) {
  const Mutex::Lock alone = co_await self.local<Busy>().mutex.lock();  // IN A HANDLER
  co_return co_await self.call(caller, ask_back, self.id());           // CALLS BACK
}

Task<> between_handlers(Rank& self) {
  if (self.id() == 0) co_await self.call(1, ask_back, self.id());  // CALLS
}

// --- pages ---

Task<> page_held(Rank& self) {
  PagedOptions options;
  options.path = path;
  options.bytes = 1 << 20;
  options.cache_per_rank = true;  // those of one cache may all hold it
  options.replace = true;
  PagedSegment segment = co_await PagedSegment::create(self.world(), options);
  if (self.id() == 0) {
    const PinnedPage page = co_await segment.pin(0, true);
    co_await self.world().barrier();
    co_await self.world().recv_value<int>(1, 1);  // HOLDS A PAGE
  } else {
    co_await self.world().barrier();
    if (self.id() == 1) {
      const PinnedPage page = co_await segment.pin(0, true);  // WAITS FOR A PAGE
      co_await self.world().send_value(1, 0, 1);
    }
  }
  co_await segment.close();
}

// --- what only takes its time ---

Task<> slow_timer(Rank& self) {
  if (self.id() == 1) co_await sleep_for(3s);
  co_await self.world().barrier();
}

Task<> slow_steps(Rank& self) {
  for (int step = 0; step < 30; ++step) {
    if (self.id() == 1) co_await sleep_for(100ms);
    co_await self.world().barrier();
  }
}

Task<> slow_pipe(Rank& self) {
  if (self.id() == 1) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw_errno(errno, "no pipe");
    if (::fork() == 0) {
      ::usleep(2'500'000);
      static_cast<void>(!::write(ends[1], "x", 1));
      ::_exit(0);
    }
    co_await self.loop().io().wait_readable(ends[0]);
  }
  co_await self.world().barrier();
}

Task<> slow_chain(Rank& self) {
  if (self.id() == 0) co_await sleep_for(2500ms);
  if (self.id() > 0) co_await self.world().recv_value<int>(self.id() - 1, 1);
  if (self.id() + 1 < self.size()) co_await self.world().send_value(1, self.id() + 1, 1);
}

Task<> app(Rank& self, const std::string& how) {
  static const std::map<std::string, Task<> (*)(Rank&)> kCases{
      {"receives", receives_in_ring},
      {"sends", sends_in_ring},
      {"wrong tag", wrong_tag},
      {"wrong tag of long", wrong_tag_of_long},
      {"wrong source", wrong_source},
      {"left", has_left},
      {"missing member", missing_member},
      {"two teams", two_teams},
      {"computes", computes},
      {"stopped", is_stopped},
      {"lost signal", lost_signal},
      {"scope", scope_never_joined},
      {"mutexes", two_mutexes},
      {"handlers", between_handlers},
      {"page", page_held},
      {"slow timer", slow_timer},
      {"slow steps", slow_steps},
      {"slow pipe", slow_pipe},
      {"slow chain", slow_chain},
  };
  co_await kCases.at(how)(self);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2) path = argv[2];
  return coracle::run(argc, argv, [how = std::string(argv[1])](Rank& self) { return app(self, how); });
}
