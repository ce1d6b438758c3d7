// `coracle bench atomics`: remote atomics beside the processor's own on the same kind of memory.
#include <fmt/format.h>

#include <atomic>

#include "apps/bench/benchmark.hpp"
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
  const auto compare = [&](const char* name, auto ours, auto plain) -> Task<> {
    Comparison comparison(bench, fmt::format("Atomics of 8 bytes, placement {}", to_string(self.placement())), 8);
    comparison.add(fmt::format("{}, {}", name, place.name),
                   [&](std::uint64_t count) { return active ? ours(self, place.remote, count) : rest(); });
    comparison.add_limit("atomic instruction", [&](std::uint64_t count) {
      if (active) plain(*place.address, count);
    });
    co_await comparison.run();
  };
  co_await compare("fetch_add", additions, plain_additions);
  co_await compare("compare_swap", swaps, plain_swaps);
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
  Comparison comparison(bench, pair.title("Atomics of 8 bytes"), sizeof(Counter));
  comparison.add("fetch_add",
                 [&](std::uint64_t count) { return pair.asks() ? additions(self, place, count) : rest(); });
  comparison.add("compare_swap", [&](std::uint64_t count) { return pair.asks() ? swaps(self, place, count) : rest(); });
  comparison.add_limit(kSleepingName, [&](std::uint64_t count) { round_trips(count, Wait::sleeping); });
  comparison.add_limit(kSpinningName, [&](std::uint64_t count) { round_trips(count, Wait::spinning); });
  co_await comparison.run();
}

}  // namespace

std::unique_ptr<Benchmark> atomics_benchmark() {
  return benchmark_of({.name = "atomics", .help = "remote atomics beside the processor's own", .ranks_min = 2},
                      bench_atomics, bench_node_atomics);
}

}  // namespace coracle::internals::bench
