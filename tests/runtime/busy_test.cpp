// Being busy in real time.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <chrono>

#include "tests/lone_rank.hpp"

namespace runtime_busy_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;

namespace {

Task<> raise_flag(bool& flag) {
  co_await yield();
  flag = true;
}

/// What is ready must wait: computation does not turn the loop.
Task<> compute(Rank& self, std::uint64_t& took_ns, bool& others_ran) {
  bool flag = false;
  Scope scope(self.loop(), &self.loop().root_scope());
  scope.spawn(raise_flag(flag));
  const std::uint64_t begin_ns = self.loop().exact_now_ns();
  co_await self.busy_for(2ms);
  took_ns = self.loop().exact_now_ns() - begin_ns;
  others_ran = flag;
  co_await scope.join();
}

}  // namespace

TEST_CASE("busy_for: lasts as long as it should, and no other coroutine of the rank runs meanwhile") {
  test::LoneRank rank;
  std::uint64_t took_ns = 0;
  bool others_ran = true;
  rank.loop.run(compute(rank.self, took_ns, others_ran));
  CHECK(took_ns >= 2'000'000);
  CHECK(!others_ran);
}

}  // namespace runtime_busy_test
