// Thousands of ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/sim/job.hpp"

namespace large_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

constexpr std::uint32_t kRanks = 4096;
constexpr std::uint32_t kRoot = 17;

/// When each rank has begun and ended something, in virtual time.
struct Times {
  std::uint64_t first_begin_ns = ~std::uint64_t{0};
  std::uint64_t last_begin_ns = 0;
  std::uint64_t first_end_ns = ~std::uint64_t{0};
  std::uint64_t last_end_ns = 0;
  void begin(Rank& rank) {
    const std::uint64_t now = rank.loop().exact_now_ns();
    first_begin_ns = std::min(first_begin_ns, now);
    last_begin_ns = std::max(last_begin_ns, now);
  }
  void end(Rank& rank) {
    const std::uint64_t now = rank.loop().exact_now_ns();
    first_end_ns = std::min(first_end_ns, now);
    last_end_ns = std::max(last_end_ns, now);
  }
};

Task<> barrier_and_broadcast(Rank& self, Times& barrier, Times& broadcast) {
  // Everybody starts at another time, the last after 4 ms; nobody may leave before the last has come.
  co_await sleep_for(std::chrono::microseconds((self.id() * 2654435761U) % kRanks));
  barrier.begin(self);
  co_await self.world().barrier();
  barrier.end(self);
  for (std::uint64_t round = 1; round <= 2; ++round) {
    co_await self.world().barrier();
    // Not just "a while after the barrier", which lets ranks go at different times.
    co_await sleep_for(std::chrono::nanoseconds(round * 10'000'000 - self.loop().exact_now_ns()));
    std::uint64_t value = self.id() == kRoot ? round * 1'000'003 : 0;
    if (self.id() == kRoot) broadcast = Times();
    if (self.id() == kRoot) broadcast.begin(self);
    co_await self.world().broadcast(std::span(&value, 1), kRoot);
    broadcast.end(self);
    EXPECT(value == round * 1'000'003);
  }
}

}  // namespace

TEST_CASE("4,096 ranks: barrier and broadcast are right, and take the time of their trees") {
  for (const std::uint32_t nodes : {1U, kRanks}) {
    CAPTURE(nodes);
    SimJob job;
    job.size = kRanks;
    job.nodes = nodes;
    job.segment_bytes = 128 << 10;
    job.model.jitter_ns = 0;
    Times barrier;
    Times broadcast;
    const SimulationResult outcome =
        job.run([&](Rank& self) { return barrier_and_broadcast(self, barrier, broadcast); });
    REQUIRE(text_of(outcome) == "");
    CHECK(barrier.first_end_ns >= barrier.last_begin_ns);
    const Link& link = nodes == 1 ? job.model.inside : job.model.between;
    const std::uint64_t step = link.latency_ns + link.overhead_send_ns + link.overhead_receive_ns;
    const std::uint64_t broadcast_ns = broadcast.last_end_ns - broadcast.first_begin_ns;
    const std::uint64_t barrier_ns = barrier.last_end_ns - barrier.last_begin_ns;
    MESSAGE("broadcast ", broadcast_ns, " ns, barrier ", barrier_ns, " ns, one message ", step, " ns, ", outcome.events,
            " events");
    // Broadcast: within a node a word that all look at. Between nodes a binomial tree of 12 levels; each message costs
    // L + 2 o, and the loops some turns. The last one's value is there before its receiver's processor is free again.
    CHECK(broadcast_ns >= (nodes == 1 ? 0 : 12 * step - link.overhead_receive_ns));
    CHECK(broadcast_ns <= (nodes == 1 ? 2 * step : 12 * (step + link.gap_ns + 4 * job.model.step_ns)));
    // Barrier: within a node a flag, seen one latency later (that its counter changes hands thousands of times, this
    // model doesn't know). Between nodes a tree of width 8, so 4 levels up, and down again.
    CHECK(barrier_ns >= (nodes == 1 ? link.latency_ns : 8 * step));
    CHECK(barrier_ns <= (nodes == 1 ? 2 * step : 8 * 8 * 2 * step));
  }
}

}  // namespace large_test
