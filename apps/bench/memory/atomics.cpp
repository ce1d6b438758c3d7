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

/// Each succeeds when nobody else is at it: expects what it has found the last time.
Task<> swaps(Rank& self, Remote<Counter> place, std::uint64_t count) {
  for (Counter expected = 0; count != 0; --count) {
    const Counter old = co_await self.compare_swap(place, expected, expected + 1);
    expected = old == expected ? expected + 1 : old;
  }
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

Task<> beside_instruction(Bench& bench, const char* name, const Place& place, Contest::Batch ours,
                          Contest::PlainBatch plain) {
  Comparison comparison(bench, fmt::format("Atomics of 8 bytes, placement {}", to_string(bench.self.placement())), 8);
  comparison.add(fmt::format("{}, {}", name, place.name), std::move(ours));
  comparison.add_limit("atomic instruction", std::move(plain));
  co_await comparison.run();
}

Task<> bench_place(Bench& bench, Place place) {
  Rank& self = bench.self;
  const bool active = self.id() == 0 || place.contended;
  const std::atomic_ref<Counter> counter(*place.address);
  co_await beside_instruction(
      bench, "fetch_add", place, repeated([&] { return self.fetch_add(place.remote, 1); }, active),
      plainly([=] { static_cast<void>(opaque(counter.fetch_add(1, std::memory_order_acq_rel))); }, active));
  co_await beside_instruction(
      bench, "compare_swap", place,
      [&](std::uint64_t count) { return active ? swaps(self, place.remote, count) : rest(); },
      [&](std::uint64_t count) { plain_swaps(*place.address, active ? count : 0); });
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
  const std::span<std::byte> out = buffer.local().first(sizeof(Counter));
  const std::span<std::byte> in = buffer.local().last(sizeof(Counter));
  Comparison comparison(bench, pair.title("Atomics of 8 bytes"), sizeof(Counter));
  comparison.add("fetch_add", repeated([&] { return self.fetch_add(place, 1); }, pair.asks()));
  comparison.add("compare_swap", [&](std::uint64_t count) { return pair.asks() ? swaps(self, place, count) : rest(); });
  comparison.add_limit(kSleepingName, pair.round_trips(out, in, Wait::sleeping));
  comparison.add_limit(kSpinningName, pair.round_trips(out, in, Wait::spinning));
  co_await comparison.run();
}

}  // namespace

std::unique_ptr<Benchmark> atomics_benchmark() {
  return benchmark_of({.name = "atomics", .help = "remote atomics beside the processor's own", .ranks_min = 2},
                      bench_atomics, bench_node_atomics);
}

}  // namespace coracle::internals::bench
