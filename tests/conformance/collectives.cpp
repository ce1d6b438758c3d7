// Every collective, with made-up data: of all kinds, on both sides of the sizes at which algorithms change, on the
// whole job and on parts whose nodes are interleaved, and several in flight at once.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "runtime/team/node_area.hpp"
#include "runtime/team/round.hpp"
#include "tests/collectives/trial.hpp"
#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {
namespace {

using test::attempt;
using test::Kind;
using test::kKinds;

Task<> each_kind(Team& team, std::size_t elements, std::uint64_t round) {
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    const std::uint32_t root = (kind + static_cast<std::uint32_t>(round)) % team.size();
    co_await attempt(team, {Kind(kind), elements, root, round, kind % 2 == round % 2});
  }
}

Task<> all_at_once(Team& team, std::uint64_t round) {
  std::vector<Task<>> tasks;
  for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
    const std::size_t elements = kind % 3 == 0 ? 3 : 3000;
    tasks.push_back(attempt(team, {Kind(kind), elements, kind % team.size(), round, false}));
  }
  co_await when_all(std::move(tasks));
}

/// Of an arena whose rooms are all free again, long before it is full.
Task<> same_rooms(Rank& self) {
  std::set<std::byte*> rooms;
  for (int i = 0; i < 40; ++i) {
    co_await self.world().barrier();
    Round round(self.world().node_area());
    if (!round.is_open()) co_await round.open();
    rooms.insert(co_await round.allocate_when_free(64 * 1024));
  }
  CHECK_HERE(rooms.size() <= 4);
}

/// The order of additions decides what a sum of floating-point numbers is: that must not be who comes last.
Task<> same_sums(Rank& self) {
  for (const std::size_t count : std::vector<std::size_t>{1, 30, 200, 700, 1024}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = std::ldexp(1.0F + 0.1F * static_cast<float>(self.id()), static_cast<int>((i + 5 * self.id()) % 17));
    std::vector<float> first;
    for (std::uint32_t late = 0; late < self.size(); ++late) {
      if (self.id() == late) co_await sleep_for(std::chrono::microseconds(200));
      std::vector<float> sum = values;
      co_await self.world().all_reduce(sum, std::plus());
      if (late == 0) first = sum;
      CHECK_HERE(sum == first);
    }
  }
}

/// Members that are late, in turn, and buffers that are written as soon as their collective has returned: who has gone
/// on before others had come has left them what they read.
Task<> late_members(Rank& self) {
  Team& team = self.world();
  const std::vector<std::size_t> sizes = is_brief() ? std::vector<std::size_t>{9'000, 70'000}
                                                    : std::vector<std::size_t>{5'000, 9'000, 70'000, 300'000, 700'000};
  const auto at = [](std::uint64_t writer, std::size_t i) {
    return static_cast<std::uint32_t>(writer * 1'000'003 + i);
  };
  std::uint32_t round = 0;
  for (const std::size_t bytes : sizes) {
    const std::size_t count = bytes / sizeof(std::uint32_t);
    for (std::uint32_t late = 0; late < team.size(); ++late, ++round) {
      const std::uint32_t root = round / 2 % team.size();
      const bool is_root = self.id() == root;
      const auto wait_if_late = [&] {
        return sleep_for(std::chrono::microseconds(self.id() == late ? 50 + 150 * (round % 3) : 0));
      };
      std::vector<std::uint32_t> mine(count);
      std::vector<std::uint32_t> all(count * team.size());
      const auto fill = [&] {
        for (std::size_t i = 0; i < count; ++i) mine[i] = at(self.id() + round, i);
      };
      fill();
      co_await wait_if_late();
      co_await team.gather(mine, std::span(all), root);
      std::fill(mine.begin(), mine.end(), ~0U);
      bool right = true;
      for (std::size_t i = 0; is_root && i < all.size(); ++i) right &= all[i] == at(i / count + round, i % count);
      co_await wait_if_late();
      co_await team.scatter(all, std::span(mine), root);
      std::fill(all.begin(), all.end(), ~0U);
      for (std::size_t i = 0; i < count; ++i) right &= mine[i] == at(self.id() + round, i);
      CHECK_HERE(right);
      co_await wait_if_late();
      co_await team.reduce(mine, std::plus(), root);
      const std::vector<std::uint32_t> sum = is_root ? mine : std::vector<std::uint32_t>();
      std::fill(mine.begin(), mine.end(), ~0U);
      const std::uint32_t writers = team.size() * (team.size() - 1) / 2 + team.size() * round;
      for (std::size_t i = 0; is_root && i < count; ++i)
        right &= sum[i] == writers * 1'000'003 + team.size() * static_cast<std::uint32_t>(i);
      CHECK_HERE(right);
      fill();
      co_await wait_if_late();
      co_await team.broadcast(mine, root);
      const std::vector<std::uint32_t> there = mine;
      std::fill(mine.begin(), mine.end(), ~0U);
      for (std::size_t i = 0; i < count; ++i) right &= there[i] == at(root + round, i);
      CHECK_HERE(right);
    }
  }
}

}  // namespace

Task<> family(Rank& self) {
  co_await same_rooms(self);
  co_await same_sums(self);
  co_await late_members(self);
  // Who shares a core leaves it to others; who has one looks on.
  const bool shares = self.core().region().shape().idle.spins == 0 && self.placement() != Placement::sim;
  CHECK_HERE(self.world().node_area().is_crowded() == shares);
  // From 8 B to 800 KB, of each member or each block.
  const std::vector<std::size_t> sizes =
      self.size() > 8 ? std::vector<std::size_t>{0, 1, 40, 600, 9'000}
                      : std::vector<std::size_t>{0, 1, 5, 6, 8, 9, 40, 600, 5'000, 9'000, 100'000};
  auto part = co_await self.world().split(self.id() % 2, self.size() - self.id());
  std::uint64_t round = 0;
  for (const std::size_t elements : sizes) {
    round += 2;
    co_await each_kind(self.world(), elements, round);
    co_await each_kind(*part, elements, round + 1);
  }
  for (; round < 50; round += 5) {
    co_await all_at_once(self.world(), round);
    co_await all_at_once(*part, round + 1);
  }
  // More rounds than a node area has contributions, without anything that all wait for.
  for (; round < 350; ++round)
    co_await attempt(self.world(), {Kind::reduce, 2, static_cast<std::uint32_t>(round % self.size()), round, false});
}

}  // namespace coracle::internals::conformance
