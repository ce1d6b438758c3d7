// `coracle bench spawn`, a rank's part: how long it took until all were there, and what memory they take.
#include <time.h>

#include <algorithm>
#include <functional>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/process_memory.hpp"
#include "collectives/collectives.hpp"

namespace coracle::internals::bench {
namespace {

double monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

Row single(const std::string& name, const char* unit, double value) {
  return {name, unit, {value, value, value}, "", {}, 0, std::nullopt};
}

}  // namespace

Task<> bench_spawn(Bench& bench) {
  Rank& self = bench.self;
  double attached_ns = monotonic_ns() - static_cast<double>(bench.started_ns);
  attached_ns = co_await self.world().all_reduce(attached_ns, [](double a, double b) { return std::max(a, b); });
  if (bench.keeps_time()) {
    const ProcessMemory memory = memory_of_all(self);
    bench.report.add("spawn", single("start", "ns", attached_ns / self.size()));
    bench.report.add("spawn", single("page tables", "B", memory.page_tables / self.size()));
    bench.report.add("spawn", single("PSS", "B", memory.proportional / self.size()));
  }
  co_await self.world().barrier();  // the others stay alive until rank 0 has looked at them
}

Task<> bench_node_spawn(Bench& bench) {
  Rank& self = bench.self;
  const auto later = [](double a, double b) { return std::max(a, b); };
  const auto since_start_ns = [&] { return monotonic_ns() - static_cast<double>(bench.started_ns); };
  const double attached_ns = co_await self.world().all_reduce(since_start_ns(), later);
  co_await self.world().barrier();
  if (!bench.keeps_time()) co_return;
  bench.report.add("spawn", single("attached", "ns", attached_ns));
  bench.report.add("spawn", single("met", "ns", since_start_ns()));
}

}  // namespace coracle::internals::bench
