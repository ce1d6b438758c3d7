// Transfers between layouts in simulated jobs, where all of them go over the network.
#include <doctest/doctest.h>

#include <cstdio>

#include "runtime/rank/exchange.hpp"
#include "tests/layout/random_layout.hpp"
#include "tests/sanitized.hpp"
#include "tests/scattered/trial.hpp"
#include "tests/sim/job.hpp"
#include "transports/sim/schedule.hpp"

namespace transfers_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::sim;

namespace {

/// A job whose shape and network depend on the seed; small inboxes make senders wait.
SimJob job_of(std::uint64_t seed) {
  Random random(seed);
  SimJob job;
  job.seed = seed;
  job.size = 1 + static_cast<std::uint32_t>(random.below(6));
  job.nodes = 1 + static_cast<std::uint32_t>(random.below(job.size));
  job.segment_bytes = 16 << 20;
  job.model.jitter_ns = std::uint64_t{1} << random.below(16);
  job.model.reorder = random.below(4) != 0;
  job.model.eager_bytes_max = 64 + random.below(1000);
  job.model.inbox_bytes = job.model.eager_bytes_max + kMessageOverheadBytes + random.below(2000);
  return job;
}

}  // namespace

TEST_CASE("scattered transfers: thousands of random ones over random networks write what they must, and nothing else") {
  const std::uint64_t first = coracle::internals::test::chosen_seed() % 1'000'000'000;
  std::printf("scattered transfers: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(first));
  for (std::uint64_t seed = first; seed < first + (test::kSanitized ? 40 : 150); ++seed) {
    CAPTURE(seed);
    const SimulationResult outcome = job_of(seed).run([seed](Rank& self) -> Task<> {
      co_await coracle::internals::test::try_random_transfers(self, seed, 15);
      co_await coracle::internals::test::try_strided_transfers(self, seed, 10);
    });
    REQUIRE(text_of(outcome) == "");
  }
}

TEST_CASE("scattered transfers: of many pieces, and of few long blocks") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const SimulationResult outcome = job_of(seed).run([](Rank& self) -> Task<> {
      co_await coracle::internals::test::try_matrix(self, 150, 200);  // pieces of 64 KiB
      co_await coracle::internals::test::try_matrix(self, 6, 10'000);
      EXPECT(self.local<scattered::Exchange>().incoming() == 0);
    });
    REQUIRE(text_of(outcome) == "");
  }
}

TEST_CASE("scattered transfers: many at once, both ways, do not mix") {
  SimJob job;
  job.size = 4;
  job.nodes = 4;
  job.segment_bytes = 64 << 20;
  const SimulationResult outcome = job.run([](Rank& self) -> Task<> {
    constexpr std::size_t kNumbers = 20'000;
    constexpr std::uint32_t kTransfers = 8;
    auto slab = self.allocate<std::uint64_t>(2 * kNumbers * kTransfers);
    const auto slabs = co_await self.world().gather_all(slab.remote());
    const Layout row = Layout::of<std::uint64_t>();
    const Layout every_second = row.vector(kNumbers, 1, 2);
    std::vector<std::vector<std::uint64_t>> mine(kTransfers, std::vector<std::uint64_t>(kNumbers));
    std::vector<std::vector<std::uint64_t>> back = mine;
    for (std::uint32_t i = 0; i < kTransfers; ++i) {
      std::fill(mine[i].begin(), mine[i].end(), 1000 * self.id() + i);
      const auto place = slabs[(self.id() + 1) % 4] + static_cast<std::ptrdiff_t>(2 * kNumbers * i);
      self.start_nbi(self.put({mine[i].data(), row, kNumbers}, place, every_second));
    }
    co_await self.nbi_done();
    for (std::uint32_t i = 0; i < kTransfers; ++i) {
      const auto place = slabs[(self.id() + 1) % 4] + static_cast<std::ptrdiff_t>(2 * kNumbers * i);
      self.start_nbi(self.get(place, every_second, 1, {back[i].data(), row, kNumbers}));
    }
    co_await self.nbi_done();
    EXPECT(back == mine);
    co_await self.world().barrier();
    for (std::size_t i = 0; i < slab.size(); ++i)
      EXPECT(slab[i] == (i % 2 == 1 ? 0 : 1000 * ((self.id() + 3) % 4) + i / (2 * kNumbers)));
  });
  CHECK(text_of(outcome) == "");
}

}  // namespace transfers_test
