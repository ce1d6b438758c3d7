// Members whose calls do not fit are asked what they have called; they may die before they have answered.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <string>
#include <vector>

#include "tests/sim/job.hpp"

namespace asked_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

constexpr std::uint32_t kDying = 1;

/// The one that will die sends, and goes on; another one expects something else.
Task<> broadcast_wrongly(Rank& self, std::uint32_t& refused) {
  std::vector<std::byte> data(self.id() == kDying ? 8 : 16);
  if (self.id() != kDying) co_await sleep_for(std::chrono::microseconds(20));
  try {
    co_await self.world().broadcast(std::span(data), kDying);
    if (self.id() == kDying) co_await sleep_for(std::chrono::milliseconds(1));
  } catch (const Error&) {
    ++refused;
  }
}

}  // namespace

TEST_CASE("collectives: a member that dies as it is asked what it has called keeps nobody waiting, at any moment") {
  for (std::uint64_t at_ns = 15'000; at_ns < 40'000; at_ns += 100) {
    sim::SimJob job;
    job.nodes = 2;
    job.survive = true;
    sim::Fault death{};
    death.kind = sim::Fault::Kind::kill;
    death.first.number = kDying;
    death.at_ns = at_ns;
    job.faults = {death};
    std::uint32_t refused = 0;
    const std::string ending = text_of(job.run([&](Rank& self) { return broadcast_wrongly(self, refused); }));
    CAPTURE(at_ns);
    REQUIRE(ending.find("deadlock") == std::string::npos);
    CHECK(refused >= 1);
  }
}

}  // namespace asked_test
