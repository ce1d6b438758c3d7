// The arena through which collectives pass what can't be exposed: rounds that are in flight together take their rooms
// in any order, and what is larger than the arena goes another way.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "runtime/job/segment.hpp"
#include "runtime/team/round.hpp"
#include "runtime/team/team_core.hpp"
#include "tests/sim/job.hpp"

namespace staging_test {

using namespace coracle;
using namespace coracle::internals;
using sim::SimJob;
using sim::text_of;

namespace {

Task<> post_and_wait(Round& round) {
  round.publish(1);
  for (std::uint32_t other = 0; other < round.local_size(); ++other)
    if (other != round.local_index()) co_await round.reached(other, 1);
}

Task<> two_rounds(NodeArea& node_area, std::size_t bytes, std::size_t earlier_bytes, bool has_room_first) {
  Round earlier(node_area);
  std::byte* room = has_room_first ? co_await earlier.allocate_when_free(64) : nullptr;
  {
    Round later(node_area);
    while (later.allocate(bytes) != nullptr) {
    }
    room = co_await earlier.allocate_when_free(earlier_bytes);
    CHECK(room != nullptr);
    std::fill_n(room, earlier_bytes, std::byte{1});
    co_await post_and_wait(earlier);
    co_await post_and_wait(later);
  }
}

}  // namespace

TEST_CASE("staging: what a later round has taken of the arena never keeps an earlier one waiting") {
  for (const bool of_part : {false, true}) {
    for (const bool has_room_first : {false, true}) {
      CAPTURE(of_part);
      CAPTURE(has_room_first);
      SimJob job;
      job.size = 3;
      const auto app = [&](Rank& self) -> Task<> {
        auto part = co_await self.world().split(0, self.id());
        NodeArea& node_area = of_part ? part->node_area() : self.world().node_area();
        for (int again = 0; again < 5; ++again)
          co_await two_rounds(node_area, node_area.room_bytes_max() / 3 + 1, node_area.room_bytes_max() / 2,
                              has_room_first);
      };
      CHECK(text_of(job.run(app)) == "");
    }
  }
}

namespace {

/// Three of them are more than a quarter of the arena of a team whose ranks have 1 MiB each.
struct Large {
  std::array<std::uint64_t, 1000> words;
};

Task<> reduce_large_elements(Team& team) {
  std::vector<Large> values(3);
  const auto add = [](const Large& left, const Large& right) {
    Large sum = left;
    for (std::size_t i = 0; i < sum.words.size(); ++i) sum.words[i] += right.words[i];
    return sum;
  };
  const auto fill = [&] {
    for (std::size_t i = 0; i < values.size(); ++i) values[i].words.fill(team.index() + i);
  };
  const auto is_sum = [&](std::size_t first, const Large& value) {
    const std::uint64_t sum = team.size() * (team.size() - 1) / 2 + team.size() * first;
    for (const std::uint64_t word : value.words)
      if (word != sum) return false;
    return true;
  };
  fill();
  co_await team.all_reduce(std::span(values), add);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(is_sum(i, values[i]));
  fill();
  co_await team.reduce(std::span(values), add, 0);
  for (std::size_t i = 0; i < values.size() && team.index() == 0; ++i) CHECK(is_sum(i, values[i]));
  values.resize(team.size());
  fill();
  std::vector<Large> mine(1);
  co_await team.reduce_scatter(std::span(values), std::span(mine), add);
  CHECK(is_sum(team.index(), mine[0]));
}

}  // namespace

TEST_CASE("staging: values whose single elements the arena can't hold are reduced all the same") {
  for (const std::uint32_t nodes : {1U, 2U}) {
    SimJob job;
    job.size = 6;
    job.nodes = nodes;
    const auto app = [](Rank& self) -> Task<> {
      auto part = co_await self.world().split(self.id() % 2, self.id());
      co_await reduce_large_elements(*part);
      co_await reduce_large_elements(self.world());
    };
    CAPTURE(nodes);
    CHECK(text_of(job.run(app)) == "");
  }
}

TEST_CASE("contributions: each round that can be in flight has a pair of lines, of which one is its own") {
  const auto contributions = std::make_unique<Contributions<NodeAreaPart::kRounds>>();
  const auto* begin = reinterpret_cast<std::byte*>(contributions.get());
  std::vector<bool> taken(NodeAreaPart::kRounds);
  for (std::uint64_t number = 1000; number < 1000 + NodeAreaPart::kRounds; ++number) {
    CAPTURE(number);
    Contribution& contribution = contributions->of(number);
    const auto at = static_cast<std::size_t>(reinterpret_cast<std::byte*>(&contribution) - begin);
    const auto beside = static_cast<std::size_t>(contribution.beside() - begin);
    const std::size_t pair = at / (2 * sizeof(Contribution));
    REQUIRE(pair < taken.size());
    CHECK_FALSE(taken[pair]);
    taken[pair] = true;
    CHECK(beside / (2 * sizeof(Contribution)) == pair);
    CHECK(beside != at);
    CHECK(&contributions->of(number + NodeAreaPart::kRounds) == &contribution);
    const auto own = static_cast<std::size_t>(contribution.inline_data(Contribution::kLineInlineBytesMax) - begin);
    CHECK(own / sizeof(Contribution) == at / sizeof(Contribution));
    CHECK(own % sizeof(Contribution) + Contribution::kLineInlineBytesMax <= sizeof(Contribution));
    CHECK(contribution.inline_data(Contribution::kInlineBytesMax) == begin + beside);
  }
}

namespace {

/// As many short rounds as meet every pair of lines; then all that the team had is there again.
Task<> use_every_pair(Rank& self) {
  SegmentHeap& heap = self.core().own_segment().heap();
  const std::uint64_t used = heap.used_bytes();
  std::array<std::uint64_t, Contribution::kInlineBytesMax / 8> words{};
  auto part = co_await self.world().split(0, self.id());
  for (std::uint64_t round = 1; round <= NodeAreaPart::kRounds; ++round) {
    if (part->index() == 0) words.fill(round);
    co_await part->broadcast(std::span(words), 0);
    EXPECT(std::ranges::count(words, round) == std::ssize(words));
  }
  part.reset();
  co_await self.world().barrier();
  self.local<Teams>().sweep();
  EXPECT(heap.used_bytes() == used);
}

}  // namespace

TEST_CASE("contributions: what lies beside them is theirs in every team, whatever else its members have allocated") {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    CAPTURE(shift);
    SimJob job;
    job.size = 3;
    const auto app = [shift](Rank& self) -> Task<> {
      std::vector<Slab<std::byte>> before;
      for (std::size_t i = 0; i < shift; ++i) before.push_back(self.allocate<std::byte>(1));
      co_await use_every_pair(self);
    };
    CHECK(text_of(job.run(app)) == "");
  }
}

}  // namespace staging_test
