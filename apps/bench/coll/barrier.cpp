// `coracle bench barrier`: what meeting costs, also of many ranks on few cores.
#include <fmt/format.h>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/measure/batches.hpp"
#include "apps/bench/measure/raw.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"

namespace coracle::internals::bench {
namespace {

Task<> bench_barrier(Bench& bench) {
  Rank& self = bench.self;
  auto slab = self.allocate<RawBarrier>(1);
  const auto remotes = co_await self.world().gather_all(slab.remote());
  RawBarrier* raw = self.reach(remotes[0]);
  if (raw == nullptr) throw Error(Errc::unsupported, "the limit of this benchmark needs ranks that share memory");
  const bool enough_cores = self.core().region().shape().idle.spins > 0;
  Comparison comparison(bench, fmt::format("Barrier, placement {}", to_string(self.placement())));
  comparison.add(fmt::format("{} ranks", self.size()), repeated([&self] { return self.world().barrier(); }));
  comparison.add_limit(enough_cores ? "one counter, spinning" : "one counter, sched_yield",
                       plainly([&] { raw->wait(self.size(), enough_cores ? 100'000 : 0); }));
  co_await comparison.run();
}

}  // namespace

std::unique_ptr<Benchmark> barrier_benchmark() {
  return benchmark_of({.name = "barrier", .help = "barriers beside one counter", .ranks = {2, 4, 8, 16}},
                      bench_barrier);
}

}  // namespace coracle::internals::bench
