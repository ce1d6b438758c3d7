// The TCP transport over real sockets, with several nodes in one process.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <ostream>
#include <vector>

#include "runtime/rank/rpc.hpp"
#include "tests/transports/nodes.hpp"

namespace tcp_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

Task<> exchange(Rank& self, std::size_t count) {
  const std::uint32_t right = (self.id() + 1) % self.size();
  const std::uint32_t left = (self.id() + self.size() - 1) % self.size();
  auto slab = self.allocate<std::uint64_t>(count);
  auto signals = self.allocate_signals(1);
  const auto places = co_await self.world().gather_all(slab.remote());
  const auto raised = co_await self.world().gather_all(signals.remote());
  std::vector<std::uint64_t> data(count, self.id() + 1);
  co_await self.put_signal(std::span<const std::uint64_t>(data), places[right], raised[right]);
  co_await self.wait(signals.local()[0], 1);
  CHECK(slab.local().front() == left + 1);
  CHECK(slab.local().back() == left + 1);
  std::vector<std::uint64_t> back(count);
  co_await self.world().barrier();
  co_await self.get(places[right], std::span(back));
  CHECK(back == data);
  co_await self.world().barrier();
  co_await self.fetch_add(places[0], 1);
  co_await self.world().barrier();
  const std::uint64_t sum = co_await self.get_value(places[0]);
  CHECK(sum == self.size() - 1 + 1 + self.size());
  co_await self.world().barrier();
}

Task<> exchange_sizes(Rank& self) {
  for (const std::size_t count : {1UL, 2UL, 100UL, 511UL, 513UL, 4096UL, 20'000UL, 200'000UL, 1'000'000UL})
    co_await exchange(self, count);
}

std::uint64_t sum_of(Rank&, std::vector<std::uint64_t> values) {
  std::uint64_t sum = 0;
  for (const std::uint64_t value : values) sum += value;
  return sum;
}

Task<> call_all(Rank& self) {
  for (const std::size_t count : {1UL, 1000UL, 100'000UL}) {
    for (std::uint32_t peer = 0; peer < self.size(); ++peer) {
      const std::uint64_t sum = co_await self.call(peer, sum_of, std::vector<std::uint64_t>(count, 3));
      CHECK(sum == 3 * count);
    }
  }
}

}  // namespace

TEST_CASE("tcp: puts, gets, signals and atomics of all sizes between nodes") {
  for (const auto& nodes : {std::vector<std::uint32_t>{1, 1}, {2, 1}, {1, 2, 3}}) {
    test::Nodes job(nodes);
    for (const std::string& outcome : job.run(exchange_sizes)) CHECK(outcome == "");
  }
}

TEST_CASE("tcp: calls between nodes, with short and long arguments") {
  test::Nodes job({1, 1});
  for (const std::string& outcome : job.run(call_all)) CHECK(outcome == "");
}

}  // namespace tcp_test
