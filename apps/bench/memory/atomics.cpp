// `coracle bench atomics`: remote atomics beside the processor's own on the same kind of memory.
#include <fmt/format.h>

#include <atomic>

#include "apps/bench/benchmarks.hpp"
#include "apps/bench/measure/batches.hpp"
#include "apps/bench/measure/node_bench.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::bench {
namespace {

using Counter = std::uint64_t;

void plain_additions(Counter& place, std::uint64_t count) {
  for (; count != 0; --count)
    static_cast<void>(opaque(std::atomic_ref<Counter>(place).fetch_add(1, std::memory_order_acq_rel)));
}

void plain_swaps(Counter& place, std::uint64_t count) {
  for (Counter expected = 0; count != 0; --count) {
    Counter found = expected;
    if (std::atomic_ref<Counter>(place).compare_exchange_strong(found, expected + 1, std::memory_order_acq_rel))
      expected = expected + 1;
    else
      expected = found;
  }
}

struct Place {
  const char* name;
  Remote<Counter> remote;
  Counter* address;
  bool contended;
};

Task<> bench_place(Bench& bench, Place place) {
  Rank& self = bench.self;
  const bool active = self.id() == 0 || place.contended;
  Contest contest(self, bench.plan);
  const auto add =
      contest.add([&](std::uint64_t count) { return active ? additions(self, place.remote, count) : rest(); });
  const auto swap =
      contest.add([&](std::uint64_t count) { return active ? swaps(self, place.remote, count) : rest(); });
  const auto plain_add = contest.add_plain([&](std::uint64_t count) {
    if (active) plain_additions(*place.address, count);
  });
  const auto plain_swap = contest.add_plain([&](std::uint64_t count) {
    if (active) plain_swaps(*place.address, count);
  });
  co_await contest.run();
  if (!bench.keeps_time()) co_return;
  const std::string title = fmt::format("Atomics of 8 bytes, placement {}", to_string(self.placement()));
  bench.report.add(title,
                   contest.row(fmt::format("fetch_add, {}", place.name), add, "atomic instruction", plain_add, 8));
  bench.report.add(title,
                   contest.row(fmt::format("compare_swap, {}", place.name), swap, "atomic instruction", plain_swap, 8));
}

Task<> bench_atomics(Bench& bench) {
  Rank& self = bench.self;
  auto slab = self.allocate<Counter>(1);
  const auto remotes = co_await self.world().gather_all(slab.remote());
  const Remote<Counter> last = remotes.back();
  Counter* reached = self.reach(last);
  if (reached == nullptr) throw Error(Errc::unsupported, "the limits of this benchmark need ranks that share memory");
  const Place own{"own segment", slab.remote(), slab.data(), false};
  const Place remote{"another rank's segment", last, reached, false};
  const Place contended{"all ranks on one place", last, reached, true};
  co_await bench_place(bench, own);
  co_await bench_place(bench, remote);
  co_await bench_place(bench, contended);
}

// --- between nodes ---

using Wait = PlainSockets::Wait;

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
    const Row row = contest.row(name, contender, kSleepingName, sleeping, sizeof(Counter));
    bench.report.add(pair.title("Atomics of 8 bytes"), row);
    bench.report.add(pair.title("Atomics of 8 bytes"), beside(row, kSpinningName, contest.figure(spinning)));
  };
  report("fetch_add", add);
  report("compare_swap", swap);
}

}  // namespace

std::unique_ptr<Benchmark> atomics_benchmark() {
  return benchmark_of({.name = "atomics", .help = "remote atomics beside the processor's own", .ranks_min = 2},
                      bench_atomics, bench_node_atomics);
}

}  // namespace coracle::internals::bench
