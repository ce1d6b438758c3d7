// Several collectives of one rank on the way at once: barriers keep their order, splits may cross.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/error.hpp"
#include "tests/brief.hpp"
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

Task<> split_and_use(Team& team, std::uint32_t color, std::uint32_t expected) {
  const std::unique_ptr<Team> part = co_await team.split(color, team.index());
  EXPECT((part == nullptr) == (color == Team::kNoTeam));
  if (!part) co_return;
  EXPECT(part->size() == expected);
  const std::uint32_t sum = co_await part->all_reduce(std::uint32_t{1}, std::plus<>());
  EXPECT(sum == expected);
}

/// Splits of two teams in another order at every other rank, and other collectives of those teams between.
Task<> split_often(Rank& self) {
  const std::uint32_t size = self.size();
  const std::unique_ptr<Team> one = co_await self.world().split(0, self.id());
  const std::unique_ptr<Team> other = co_await self.world().split(0, size - self.id());
  const auto begin = [&](Team& team, std::vector<Started<>>& all) {
    const std::uint32_t odd = self.id() % 2;
    all.push_back(start(self, split_and_use(team, 0, size)));
    all.push_back(start(self, team.barrier()));
    all.push_back(start(self, split_and_use(team, odd, (size + 1 - odd) / 2)));
    all.push_back(start(self, split_and_use(team, self.id() == 0 ? Team::kNoTeam : 7, size - 1)));
    all.push_back(start(self, team.barrier()));
  };
  std::vector<Started<>> all;
  begin(self.id() % 2 == 0 ? *one : *other, all);
  if (self.id() == size - 1) co_await sleep_for(1ms);
  begin(self.id() % 2 == 0 ? *other : *one, all);
  for (Started<>& each : all) co_await each.done();
}

/// Splits until some rank has no room; gives the teams.
Task<std::vector<std::unique_ptr<Team>>> split_until_full(Rank& self, std::vector<std::string>& told) {
  std::vector<std::unique_ptr<Team>> teams;
  while (told[self.id()].empty()) {
    try {
      teams.push_back(co_await self.world().split(0, self.id()));
    } catch (const Error& error) {
      EXPECT(error.code() == std::errc::no_buffer_space);
      told[self.id()] = error.what();
    }
  }
  co_return teams;
}

}  // namespace

TEST_CASE("in flight: a barrier ends when all have called it, whichever others are on the way") {
  for (const std::uint32_t nodes : {1U, 2U, 3U}) {
    for (std::uint64_t seed = 1; seed <= (test::is_brief() ? 15 : 60); ++seed) {
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

TEST_CASE("in flight: splits of several teams, begun in any order, and other collectives meanwhile") {
  for (const std::uint32_t nodes : {1U, 2U, 3U}) {
    for (std::uint64_t seed = 1; seed <= (test::is_brief() ? 10 : 40); ++seed) {
      CAPTURE(nodes);
      CAPTURE(seed);
      SimJob job;
      job.size = 6;
      job.nodes = nodes;
      job.seed = seed;
      job.segment_bytes = 4 << 20;
      CHECK(text_of(job.run(split_often)) == "");
    }
  }
}

TEST_CASE("teams: as many as the segment has room for, then an error at every member that breaks nothing") {
  for (const std::uint32_t nodes : {1U, 2U}) {
    CAPTURE(nodes);
    SimJob job;
    job.size = 4;
    job.nodes = nodes;
    job.segment_bytes = 64 << 20;
    std::vector<std::string> told(job.size);
    const auto app = [&told](Rank& self) -> Task<> {
      // One rank has less room than the others.
      auto taken = self.allocate<std::byte>(self.id() == 2 ? 2 << 20 : 64);
      std::vector<std::unique_ptr<Team>> teams = co_await split_until_full(self, told);
      EXPECT(teams.size() > 300);
      const std::size_t most = teams.size();
      for (const auto& team : teams) EXPECT(co_await team->all_reduce(std::uint32_t{1}, std::plus<>()) == 4);
      for (std::size_t i = 0; i < teams.size(); i += 2) teams[i].reset();
      co_await self.world().barrier();
      for (std::size_t i = 0; i < most; i += 2) teams[i] = co_await self.world().split(0, self.size() - self.id());
      for (const auto& team : teams) EXPECT(co_await team->all_reduce(std::uint32_t{1}, std::plus<>()) == 4);
    };
    CHECK(text_of(job.run(app)) == "");
    for (const std::string& text : told) CHECK(text.find("rank 2 has no room") != std::string::npos);
  }
}

}  // namespace in_flight_test
