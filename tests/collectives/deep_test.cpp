// Programs that are deep in nested awaits: there the loop defers what is started (Scheduler::start), and collectives
// must get the numbers that they have at members that are not so deep.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "tests/brief.hpp"
#include "tests/sanitized.hpp"
#include "tests/sim/job.hpp"

namespace deep_test {

using namespace coracle;
using namespace coracle::internals;
using sim::SimJob;
using sim::text_of;

namespace {

using Several = Task<> (*)(Rank&);

Task<> broadcast_and_barrier(Rank& self) {
  std::vector<double> data(100, self.id() == 0 ? 7.0 : 0.0);
  co_await when_all(self.world().broadcast(std::span(data), 0), self.world().barrier());
  CHECK(std::accumulate(data.begin(), data.end(), 0.0) == 700.0);
}

Task<> all_reduce_and_gather_all(Rank& self) {
  const auto [sum, all] =
      co_await when_all(self.world().all_reduce(1, std::plus<>()), self.world().gather_all(self.id()));
  CHECK(sum == 4);
  CHECK(all == std::vector{0U, 1U, 2U, 3U});
}

Task<> scan_and_barrier(Rank& self) {
  std::vector<int> data(100, 1);
  co_await when_all(self.world().scan(std::span(data), std::plus<>()), self.world().barrier());
  CHECK(data.back() == static_cast<int>(self.id()) + 1);
}

Task<> started(Rank& self) {
  Started<int> sum = start(self, self.world().all_reduce(1, std::plus<>()));
  Started<> met = start(self, self.world().barrier());
  co_await met.done();
  co_await sum.done();
}

/// Rank 1, which is deep, sends a message by a task that it starts, and one that it awaits itself.
Task<> started_and_awaited(Rank& self) {
  if (self.id() == 1) {
    const int second = 2;
    Started<> first = start(self, self.world().send_value(1, 0));
    co_await self.world().send(std::span(&second, 1), 0);
    co_await first.done();
  } else if (self.id() == 0) {
    const int first = co_await self.world().recv_value<int>(1);
    const int second = co_await self.world().recv_value<int>(1);
    CHECK(first == 1);
    CHECK(second == 2);
  }
}

Task<> nest(Rank& self, int depth, Several several) {
  if (depth == 0)
    co_await several(self);
  else
    co_await nest(self, depth - 1, several);
}

Task<int> count_nested(int depth) {
  if (depth == 0) co_return 0;  // not `?:`, out of which g++ 12 would take the call
  co_return 1 + co_await count_nested(depth - 1);
}

/// A frame is some hundred bytes: with 2 the end of the stack's room falls everywhere between two starts.
int depth_step() noexcept {
  return test::kSanitized ? 20 : test::is_brief() ? 10 : 2;
}

}  // namespace

TEST_CASE("deep: collectives that start together have the same numbers at members of any depth") {
  for (const Several several : {broadcast_and_barrier, all_reduce_and_gather_all, scan_and_barrier, started}) {
    for (const std::uint32_t nodes : {1U, 2U}) {
      for (int depth = 100; depth < 2500; depth += depth_step()) {
        SimJob job;
        job.size = 4;
        job.nodes = nodes;
        job.seed = static_cast<std::uint64_t>(depth);
        const auto app = [&](Rank& self) -> Task<> {
          co_await yield();
          co_await nest(self, self.id() == 1 ? depth : 1, several);
        };
        const std::string ending = text_of(job.run(app));
        REQUIRE_MESSAGE(ending == "", ending);
      }
    }
  }
}

TEST_CASE("deep: what is started begins before what is awaited after it") {
  for (int depth = 100; depth < 2500; depth += depth_step()) {
    SimJob job;
    const auto app = [&](Rank& self) -> Task<> {
      co_await yield();
      co_await nest(self, self.id() == 1 ? depth : 1, started_and_awaited);
    };
    const std::string ending = text_of(job.run(app));
    REQUIRE_MESSAGE(ending == "", ending);
  }
}

TEST_CASE("deep: a program may nest as it likes before its first wait") {
  SimJob job;
  int counted = 0;
  const auto app = [&counted](Rank&) -> Task<> { counted = co_await count_nested(200'000); };
  CHECK(text_of(job.run(app)) == "");
  CHECK(counted == 200'000);
}

}  // namespace deep_test
