// Tagged messages from and to ranks that die.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "runtime/messages/messages.hpp"
#include "tests/messages/error_of.hpp"
#include "tests/sim/job.hpp"

namespace message_losses_test {

using namespace coracle;
using namespace coracle::internals;
using coracle::internals::test::error_of;
using namespace coracle::internals::sim;
using namespace std::chrono_literals;

namespace {

SimJob job_with(const char* faults, std::uint32_t size) {
  SimJob job;
  job.size = size;
  job.nodes = 1;
  job.survive = true;
  job.faults = parse_faults(faults, "test", job.shape());
  return job;
}

}  // namespace

TEST_CASE("messages: who waits for a rank that dies gets an error; who waits for anybody, once") {
  const SimJob job = job_with("1 ms kill rank 2", 3);
  const SimulationResult outcome = job.run([](Rank& self) -> Task<> {
    Team& team = self.world();
    int value = 0;
    const std::span<int> buffer(&value, 1);
    if (self.id() == 2) co_await sleep_for(10ms);
    if (self.id() == 1) {
      // A send that nobody takes.
      const std::vector<std::byte> data(50'000);
      const std::string error = co_await error_of(team.send(data, 2, 1));
      EXPECT(error == "send on rank 1 with rank 2 failed: peer lost (it was killed by the fault plan)");
      co_await team.send_value(11, 0, 1);
      co_return;
    }
    Started<Received> other = start(self, team.recv(buffer, 2, 5));
    const std::string anybody = co_await error_of(team.recv(buffer, kAnySource, 6));
    EXPECT(anybody == "receive on rank 0 with rank 2 failed: peer lost (it was killed by the fault plan)");
    const std::string waited = co_await error_of([](Started<Received>& of) -> Task<> { co_await of.done(); }(other));
    EXPECT(waited == anybody);
    const std::string probed = co_await error_of(team.wait_probe(2));
    EXPECT(probed == "probe on rank 0 with rank 2 failed: peer lost (it was killed by the fault plan)");
    const std::string sent = co_await error_of(team.send_value(1, 2));
    EXPECT(sent.find("peer lost") != std::string::npos);
    co_await team.recv(buffer, kAnySource, 1);  // the loss has been told: it waits for the others
    EXPECT(value == 11);
  });
  CHECK(text_of(outcome) == "");
}

TEST_CASE("messages: short ones that waited for room at their sender are gone with it") {
  SimJob job = job_with("20 ms kill rank 1", 2);
  job.messages.unexpected_bytes = 4000;  // room for one, and for 16 more of who waits
  const SimulationResult outcome = job.run([](Rank& self) -> Task<> {
    Team& team = self.world();
    std::vector<std::byte> data(3000);
    if (self.id() == 1) {
      for (int i = 0; i < 100; ++i) co_await team.send(data, 0);
      co_return;
    }
    co_await sleep_for(10ms);
    const std::size_t there = Messages::of(self).unexpected();
    EXPECT(there > 16);
    EXPECT(there < 30);
    EXPECT(Messages::of(self).lacks_room());
    co_await self.more_lost(0);
    EXPECT(!Messages::of(self).lacks_room());
    for (std::size_t i = 0; i + 1 < there; ++i) co_await team.recv(data, 1);  // all that were kept
    EXPECT(co_await error_of(team.recv(data, 1)) != "");
  });
  CHECK(text_of(outcome) == "");
}

TEST_CASE("messages: a loss that nobody waited for is told to the next receive of any source") {
  const SimJob job = job_with("1 ms kill rank 2", 3);
  const SimulationResult outcome = job.run([](Rank& self) -> Task<> {
    Team& team = self.world();
    if (self.id() == 1) co_await team.send_value(11, 0, 1);
    co_await sleep_for(5ms);
    if (self.id() != 0) co_return;
    co_await self.more_lost(0);
    EXPECT(co_await team.recv_value<int>(kAnySource, 1) == 11);  // was there already
    const std::string error = co_await error_of(team.recv_value<int>());
    EXPECT(error == "receive on rank 0 with rank 2 failed: peer lost (it was killed by the fault plan)");
    const std::string late = co_await error_of(with_timeout(1ms, team.recv_value<int>()));
    EXPECT(late.find("peer lost") == std::string::npos);
    EXPECT(late != "");
  });
  CHECK(text_of(outcome) == "");
}

}  // namespace message_losses_test
