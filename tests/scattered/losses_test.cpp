// Scattered transfers from and to ranks that die in the middle of them.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "runtime/rank/exchange.hpp"
#include "tests/messages/error_of.hpp"
#include "tests/sim/job.hpp"

namespace scattered_losses_test {

using namespace coracle;
using namespace coracle::internals;
using coracle::internals::scattered::Exchange;
using coracle::internals::test::error_of;
using namespace coracle::internals::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kNumbers = 40'000;  // in several pieces

SimJob job_with(const std::string& faults) {
  SimJob job;
  job.size = 3;
  job.nodes = 3;
  job.survive = true;
  job.segment_bytes = 4 << 20;
  job.faults = parse_faults(faults, "test", job.shape());
  return job;
}

/// Puts to, or gets from, `peer`, in an endless row; gives the error by which that ends.
Task<std::string> transfer_until_error(Rank& self, Remote<std::uint64_t> place, bool put, bool long_blocks) {
  std::vector<std::uint64_t> numbers(kNumbers);
  const Layout row = Layout::of<std::uint64_t>();
  const Layout there = long_blocks ? row.vector(4, kNumbers / 4, kNumbers / 2) : row.vector(kNumbers, 1, 2);
  for (;;) {
    std::string error;
    if (put)
      error = co_await error_of(self.put({numbers.data(), row, kNumbers}, place, there));
    else
      error = co_await error_of(self.get(place, there, 1, {numbers.data(), row, kNumbers}));
    if (!error.empty()) co_return error;
  }
}

}  // namespace

TEST_CASE("scattered transfers: who puts to or gets from a rank that dies gets its error; both can go on with others") {
  for (const bool put : {true, false}) {
    for (const bool long_blocks : {true, false}) {
      for (int moment = 1; moment <= 30; ++moment) {
        CAPTURE(put);
        CAPTURE(long_blocks);
        CAPTURE(moment);
        const SimJob job = job_with(std::to_string(500 + 13 * moment) + " us kill rank 2");
        const SimulationResult outcome = job.run([put, long_blocks](Rank& self) -> Task<> {
          auto slab = self.allocate<std::uint64_t>(2 * kNumbers);
          const auto slabs = co_await self.world().gather_all(slab.remote());
          if (self.id() == 2) co_await sleep_for(1s);
          if (self.id() == 1) co_return;
          const std::string error = co_await transfer_until_error(self, slabs[2], put, long_blocks);
          EXPECT(error == std::string(put ? "put" : "get") +
                              " on rank 0 with rank 2 failed: peer lost (it was killed by the fault plan)");
          // At once.
          const std::string again = co_await transfer_until_error(self, slabs[2], put, long_blocks);
          EXPECT(again == error);
          const std::uint64_t value[2] = {5, 6};
          const Layout pair = Layout::of<std::uint64_t>().vector(2, 1, 3);
          co_await self.put({value, Layout::of<std::uint64_t>(), 2}, slabs[1], pair);
        });
        CHECK(text_of(outcome) == "");
      }
    }
  }
}

TEST_CASE("scattered transfers: a rank forgets the puts of one that dies, and what it was sending to it") {
  for (const bool put : {true, false}) {
    for (int moment = 1; moment <= 30; ++moment) {
      CAPTURE(put);
      CAPTURE(moment);
      const SimJob job = job_with(std::to_string(500 + 13 * moment) + " us kill rank 2");
      const SimulationResult outcome = job.run([put](Rank& self) -> Task<> {
        auto slab = self.allocate<std::uint64_t>(2 * kNumbers);
        const auto slabs = co_await self.world().gather_all(slab.remote());
        if (self.id() == 2) co_await transfer_until_error(self, slabs[0], put, false);
        if (self.id() == 1) co_return;
        co_await self.more_lost(0);
        co_await sleep_for(10ms);
        EXPECT(self.local<Exchange>().incoming() == 0);
        EXPECT(self.service().running() == 0);
      });
      CHECK(text_of(outcome) == "");
    }
  }
}

}  // namespace scattered_losses_test
