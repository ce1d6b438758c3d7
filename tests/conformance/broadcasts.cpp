// Broadcasts by every method and tree, of sizes on all sides of what changes their way, with the root or the others
// late, and several in flight at once.
#include <bit>
#include <chrono>
#include <vector>

#include "tests/conformance/suite.hpp"

namespace coracle::internals::conformance {
namespace {

using std::chrono::microseconds;

Task<> broadcast_once(Rank& self, Team& team, std::size_t bytes, std::uint64_t round, BroadcastChoice choice) {
  const auto root = static_cast<std::uint32_t>(round * 7 % team.size());
  std::vector<std::byte> data(bytes);
  if (team.index() == root) write_pattern(data, root, round);
  co_await team.broadcast(std::span(data), root, choice);
  CHECK_HERE(holds_pattern(data, root, round));
}

std::vector<BroadcastChoice> choices(Rank& self) {
  const std::uint32_t nodes = self.world().nodes().count();
  std::vector<BroadcastChoice> all(1);
  for (const auto method : {BroadcastMethod::plain, BroadcastMethod::pipelined, BroadcastMethod::competitive})
    for (const auto tree : {BroadcastTree::binomial, BroadcastTree::recursive_doubling, BroadcastTree::ring})
      if (tree != BroadcastTree::recursive_doubling || std::has_single_bit(nodes))
        all.push_back({method, tree, 8192, 4, 1 + self.size() % 3});
  return all;
}

/// Of each round another rank comes late; 0: none.
microseconds lateness(Rank& self, std::uint64_t round) {
  return microseconds(round % 3 == 0 || self.id() != round % self.size() ? 0 : 100 * (round % 4));
}

}  // namespace

Task<> broadcasts(Rank& self) {
  std::uint64_t round = 0;
  for (const BroadcastChoice& choice : choices(self)) {
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{40}, std::size_t{41}, std::size_t{64}, std::size_t{65}, std::size_t{8'192},
          std::size_t{8'193}, std::size_t{20'000}, std::size_t{131'072}, std::size_t{300'001}}) {
      ++round;
      co_await sleep_for(lateness(self, round));
      co_await broadcast_once(self, self.world(), bytes, round, choice);
    }
  }
  const int repeats = self.size() > 8 ? 4 : 20;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    ++round;
    co_await sleep_for(lateness(self, round));
    std::vector<Task<>> at_once;
    for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{200'003}, std::size_t{131'073}})
      at_once.push_back(broadcast_once(self, self.world(), bytes, ++round, {}));
    co_await when_all(std::move(at_once));
  }
  // In pieces that no arena holds.
  auto part = co_await self.world().split(self.id() % 2, self.id());
  for (BroadcastChoice choice : choices(self)) {
    choice.chunk_bytes = 3'000'000;
    ++round;
    co_await broadcast_once(self, self.world(), 5'000'001, round, choice);
    choice.tree = BroadcastTree::binomial;
    ++round;
    co_await broadcast_once(self, *part, 700'001, round, choice);
    if (is_brief()) break;  // a slow cable
  }
}

}  // namespace coracle::internals::conformance
