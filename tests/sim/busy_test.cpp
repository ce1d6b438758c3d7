// Ranks that compute: their processors are taken, and what comes for them waits.
#include <doctest/doctest.h>

#include <chrono>

#include "tests/sim/job.hpp"

namespace sim_busy_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kBusyNs = 1'000'000;

struct Times {
  std::uint64_t begin_ns = 0;
  std::uint64_t handled_ns = 0;
  std::uint64_t answered_ns = 0;
};

/// When rank 1 has run the handler of a message.
struct Handled {
  explicit Handled(Rank&) {}
  std::uint64_t time_ns = 0;
};
void note_time(Rank& rank, const Message&) {
  rank.local<Handled>().time_ns = rank.loop().exact_now_ns();
}

std::uint64_t double_it(Rank&, std::uint64_t value) {
  return 2 * value;
}

/// Rank 1 is busy, or asleep, for a millisecond; rank 0 sends it a message and calls it meanwhile.
Task<> ask_one_that_rests(Rank& self, bool busy, Times& times) {
  co_await self.world().barrier();
  if (self.id() == 0) {
    co_await sleep_for(100us);
    co_await self.request(1, note_time, {});
    const std::uint64_t result = co_await self.call(1, double_it, std::uint64_t{21});
    EXPECT(result == 42);
    times.answered_ns = self.loop().exact_now_ns();
  } else {
    times.begin_ns = self.loop().exact_now_ns();
    if (busy)
      co_await self.busy_for(std::chrono::nanoseconds(kBusyNs));
    else
      co_await sleep_for(std::chrono::nanoseconds(kBusyNs));
    EXPECT(self.loop().exact_now_ns() >= times.begin_ns + kBusyNs);
    EXPECT(self.loop().exact_now_ns() <= times.begin_ns + kBusyNs + 10'000);
  }
  co_await self.world().barrier();
  if (self.id() == 1) times.handled_ns = self.local<Handled>().time_ns;
}

/// A put to a busy rank lands; its signal is seen when the rank looks.
Task<> put_to_a_busy_one(Rank& self, std::uint64_t& seen_ns, std::uint64_t& busy_until_ns) {
  auto slab = self.allocate<std::uint64_t>(1);
  auto signals = self.allocate_signals(1);
  const auto places = co_await self.world().gather_all(slab.remote());
  const auto flags = co_await self.world().gather_all(signals.remote());
  co_await self.world().barrier();
  if (self.id() == 0) {
    co_await sleep_for(10us);
    const std::uint64_t value = 7;
    co_await self.put_signal(std::span(&value, 1), places[1], flags[1]);
  } else {
    busy_until_ns = self.loop().exact_now_ns() + kBusyNs;
    co_await self.busy_for(std::chrono::nanoseconds(kBusyNs));
    EXPECT(slab[0] == 7);
    co_await self.wait(signals[0], 1);
    seen_ns = self.loop().exact_now_ns();
  }
  co_await self.world().barrier();
}

}  // namespace

TEST_CASE("busy_for: a busy rank runs no handler and answers no call until it is done; a sleeping one does") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimJob job;
    job.seed = seed;
    job.nodes = seed % 2 == 0 ? 2 : 1;
    CAPTURE(seed);
    Times busy;
    CHECK(text_of(job.run([&](Rank& self) { return ask_one_that_rests(self, true, busy); })) == "");
    CHECK(busy.handled_ns >= busy.begin_ns + kBusyNs);
    CHECK(busy.answered_ns >= busy.begin_ns + kBusyNs);
    Times asleep;
    CHECK(text_of(job.run([&](Rank& self) { return ask_one_that_rests(self, false, asleep); })) == "");
    CHECK(asleep.handled_ns < asleep.begin_ns + kBusyNs);
    CHECK(asleep.answered_ns < asleep.begin_ns + kBusyNs);
  }
}

TEST_CASE("busy_for: puts land in the memory of a busy rank, which sees their signals when it is done") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimJob job;
    job.seed = seed;
    job.nodes = seed % 2 == 0 ? 2 : 1;
    CAPTURE(seed);
    std::uint64_t seen_ns = 0;
    std::uint64_t busy_until_ns = 0;
    CHECK(text_of(job.run([&](Rank& self) { return put_to_a_busy_one(self, seen_ns, busy_until_ns); })) == "");
    CHECK(seen_ns >= busy_until_ns);
    CHECK(seen_ns <= busy_until_ns + 10'000);
  }
}

TEST_CASE("busy_for nothing or less takes no time") {
  SimJob job;
  const SimulationResult outcome = job.run([](Rank& self) -> Task<> {
    const std::uint64_t before = self.loop().exact_now_ns();
    co_await self.busy_for(0ns);
    co_await self.busy_for(-1ns);
    EXPECT(self.loop().exact_now_ns() == before);
  });
  CHECK(text_of(outcome) == "");
}

}  // namespace sim_busy_test
