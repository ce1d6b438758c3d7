// `coracle bench atomics` between nodes: beside plain sockets.
#include "apps/coracle/bench/batches.hpp"
#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/node_bench.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

using Wait = PlainSockets::Wait;
using Counter = std::uint64_t;

}  // namespace

Task<> bench_node_atomics(Bench& bench) {
  Rank& self = bench.self;
  NodePair pair(self);
  auto counter = self.allocate<Counter>(1);
  auto buffer = self.allocate<std::byte>(2 * sizeof(Counter));
  const auto places = co_await self.world().gather_all(counter.remote());
  const Remote<Counter> place = places[pair.partner()];
  co_await pair.sockets().meet();
  const auto round_trips = [&](std::uint64_t count, Wait wait) {
    pair.round_trips(buffer.local().first(sizeof(Counter)), buffer.local().last(sizeof(Counter)), count, wait);
  };
  Contest contest(self, bench.plan);
  const auto add =
      contest.add([&](std::uint64_t count) { return pair.asks() ? additions(self, place, count) : rest(); });
  const auto swap = contest.add([&](std::uint64_t count) { return pair.asks() ? swaps(self, place, count) : rest(); });
  const auto sleeping = contest.add_plain([&](std::uint64_t count) { round_trips(count, Wait::sleeping); });
  const auto spinning = contest.add_plain([&](std::uint64_t count) { round_trips(count, Wait::spinning); });
  co_await contest.run();
  if (!bench.keeps_time()) co_return;
  const auto report = [&](const char* name, std::size_t contender) {
    const Row row{name,
                  "ns",
                  contest.figure(contender),
                  kSleepingName,
                  contest.figure(sleeping),
                  sizeof(Counter),
                  contest.allocations(contender)};
    bench.report.add(pair.title("Atomics of 8 bytes"), row);
    bench.report.add(pair.title("Atomics of 8 bytes"), beside(row, kSpinningName, contest.figure(spinning)));
  };
  report("fetch_add", add);
  report("compare_swap", swap);
}

}  // namespace coracle::internals::bench
