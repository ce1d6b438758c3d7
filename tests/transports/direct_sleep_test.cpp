// Ranks of a node that go to sleep while others send to them. Where each rank has a core, what is sent is handed over
// by plain stores, and who goes to sleep passes the fence for both: a lost wake-up would leave this test waiting.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include "runtime/core/cpu.hpp"
#include "tests/transports/nodes.hpp"

namespace direct_sleep_test {

using namespace coracle;
using namespace coracle::internals;
using namespace coracle::internals::test;

namespace {

constexpr int kRounds = 20000;

/// Each time a little longer, so that what is sent comes once before, once after, and now and then just when the other
/// goes to sleep.
void hold(int round) {
  for (int pause = 0; pause < round % 251; ++pause) cpu_pause();
}

Task<> go_to_and_fro(Rank& self) {
  const std::uint32_t other = 1 - self.id();
  for (int round = 0; round < kRounds; ++round) {
    if (self.id() == 0) co_await self.world().send_value(round, other);
    const int received = co_await self.world().recv_value<int>(other);
    REQUIRE(received == round);
    hold(round);
    if (self.id() == 1) co_await self.world().send_value(round, other);
  }
}

}  // namespace

TEST_CASE("direct: what is sent to a rank that goes to sleep at that moment wakes it") {
  Nodes nodes({2}, {}, IdlePolicy{.spins = 16, .yields = 0, .lingers = 0});
  CHECK(nodes.run(go_to_and_fro) == Outcomes{"", ""});
}

}  // namespace direct_sleep_test
