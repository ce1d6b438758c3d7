// Several collectives of one rank on the way at once: barriers keep their order; splits must be awaited.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/sim/job.hpp"

namespace in_flight_test {

using namespace coracle;
using namespace coracle::internals;
using namespace std::chrono_literals;
using sim::SimJob;
using sim::text_of;

namespace {

constexpr std::uint32_t kBarriers = 4;

/// Each barrier's number of members that have called it; in `sim` all ranks are of one thread.
struct Meetings {
  std::vector<std::uint32_t> members = std::vector<std::uint32_t>(kBarriers);
};

Task<> meet(Rank& self, Meetings& called, std::uint32_t which) {
  ++called.members[which];
  co_await self.world().barrier();
  EXPECT(called.members[which] == self.size());
}

/// The last rank begins its barriers one after the other, the others all of theirs at once.
Task<> meet_often(Rank& self, Meetings& called) {
  const bool is_late = self.id() == self.size() - 1;
  std::vector<Started<>> all;
  for (std::uint32_t which = 0; which < kBarriers; ++which) {
    if (is_late) co_await sleep_for(1ms);
    all.push_back(start(self, meet(self, called, which)));
    if (self.id() == 1) co_await yield();
  }
  for (Started<>& each : all) co_await each.done();
}

Task<std::error_code> code_of_split(Team& team) {
  std::error_code code;
  try {
    const std::unique_ptr<Team> part = co_await team.split(0, 0);
  } catch (const Error& error) {
    code = error.code();
  }
  co_return code;
}

}  // namespace

TEST_CASE("in flight: a barrier ends when all have called it, whichever others are on the way") {
  for (const std::uint32_t nodes : {1U, 2U, 3U}) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(nodes);
      CAPTURE(seed);
      SimJob job;
      job.size = 6;
      job.nodes = nodes;
      job.seed = seed;
      Meetings called;
      CHECK(text_of(job.run([&called](Rank& self) { return meet_often(self, called); })) == "");
    }
  }
}

TEST_CASE("in flight: a split while another of this rank is in progress is refused") {
  for (const std::uint32_t nodes : {1U, 2U}) {
    CAPTURE(nodes);
    SimJob job;
    job.size = 4;
    job.nodes = nodes;
    std::vector<std::error_code> second(job.size);
    const auto app = [&second](Rank& self) -> Task<> {
      const std::unique_ptr<Team> other = co_await self.world().split(0, self.id());
      Started<std::error_code> first = start(self, code_of_split(self.world()));
      second[self.id()] = co_await code_of_split(*other);
      EXPECT(!co_await first.done());
      // The next one finds all as it should be.
      EXPECT(!co_await code_of_split(self.world()));
    };
    CHECK(text_of(job.run(app)) == "");
    for (const std::error_code& code : second) CHECK((code == Errc::bad_input || code == Errc::given_up));
    CHECK((second[0] == Errc::bad_input));
  }
}

}  // namespace in_flight_test
