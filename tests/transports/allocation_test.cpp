// Operations on peers in the same address space take no memory from the system.
#include <doctest/doctest.h>
#include <coracle/coracle.hpp>

#include <vector>

#include "tests/allocations.hpp"
#include "tests/lone_rank.hpp"
#include "transports/direct/direct.hpp"

namespace allocation_test {

using namespace coracle;
using namespace coracle::internals;

namespace {

void on_number(Rank&, const Message&) {}

Task<> once(Rank& self, Slab<std::uint64_t>& slab, Slab<Signal>& signal, const Layout& every_second,
            std::uint64_t& round) {
  ++round;
  co_await self.put(std::span(&round, 1), slab.remote());
  co_await self.put_value(round, slab.remote());
  co_await self.put_signal(std::span(&round, 1), slab.remote(), signal.remote());
  co_await self.wait(signal[0], round);
  std::uint64_t back = 0;
  co_await self.get(slab.remote(), std::span(&back, 1));
  co_await self.fetch_add(slab.remote(), 1);
  co_await self.compare_swap(slab.remote(), round + 1, round);
  self.put_nbi(std::span(&round, 1), slab.remote());
  co_await self.nbi_done();
  const std::uint64_t pair[3] = {round, 0, round + 1};
  co_await self.put({pair, every_second}, slab.remote() + 1, every_second);
  std::uint64_t pair_back[3];
  co_await self.get(slab.remote() + 1, every_second, 1, {pair_back, every_second});
  self.start_nbi(self.put({pair, every_second}, slab.remote() + 1, every_second));
  co_await self.nbi_done();
  co_await self.request(self.id(), on_number, std::as_bytes(std::span(&round, 1)), round);
  co_await yield();  // the handler runs
  co_await self.world().barrier();
}

Task<> many_times(Rank& self, std::uint64_t& allocations) {
  auto slab = self.allocate<std::uint64_t>(4);
  auto signal = self.allocate_signals(1);
  const Layout every_second = Layout::of<std::uint64_t>().vector(2, 1, 2);
  std::uint64_t round = 0;
  for (int i = 0; i < 3; ++i)
    co_await once(self, slab, signal, every_second, round);  // pools and queues reach their size
  const std::uint64_t before = test::allocation_count();
  for (int i = 0; i < 1000; ++i) co_await once(self, slab, signal, every_second, round);
  allocations = test::allocation_count() - before;
}

}  // namespace

TEST_CASE("direct: puts and gets (scattered ones, too), atomics, signals, messages and barriers allocate nothing") {
  test::LoneRank rank;
  std::uint64_t allocations = 1;
  rank.loop.run(many_times(rank.self, allocations));
  if (test::allocations_are_counted())
    CHECK(allocations == 0);
  else
    MESSAGE("not counted: sanitizers bring their own operator new");
}

}  // namespace allocation_test
