// `coracle bench idle`: what waiting costs, of many ranks on few cores.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include "apps/bench/benchmark.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/event.hpp"

namespace coracle::internals::bench {
namespace {

/// CPU time of this rank so far.
double cpu_ns(const Rank& self) {
  rusage used{};
  ::getrusage(self.placement() == Placement::thread ? RUSAGE_THREAD : RUSAGE_SELF, &used);
  const auto nanoseconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
  };
  return nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime);
}

void sleep_plainly(double duration_ns) {
  timespec left{};
  left.tv_sec = static_cast<time_t>(duration_ns / 1e9);
  left.tv_nsec = static_cast<long>(duration_ns) % 1'000'000'000L;
  while (::nanosleep(&left, &left) != 0) {
  }
}

Task<> wait_for_sleeper(Rank& self, double duration_ns) {
  if (self.id() == 0) co_await sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(duration_ns)));
  co_await self.world().barrier();
}

Task<> bench_idle(Bench& bench) {
  Rank& self = bench.self;
  const double duration_ns = bench.plan.quick ? 5e7 : 1e9;
  const int rounds = bench.plan.quick ? 1 : 5;
  std::vector<double> ours;
  std::vector<double> limit;
  for (int round = 0; round < rounds; ++round) {
    co_await self.world().barrier();
    double begin = cpu_ns(self);
    co_await wait_for_sleeper(self, duration_ns);
    const double used = cpu_ns(self) - begin;
    ours.push_back(co_await self.world().all_reduce(used, std::plus<>()) / self.size() / duration_ns * 100);
    begin = cpu_ns(self);
    sleep_plainly(duration_ns);
    const double slept = cpu_ns(self) - begin;
    limit.push_back(co_await self.world().all_reduce(slept, std::plus<>()) / self.size() / duration_ns * 100);
  }
  if (!bench.keeps_time()) co_return;
  bench.report.add(fmt::format("Ranks that wait in a barrier for one that sleeps {:g} s, placement {}",
                               duration_ns / 1e9, to_string(self.placement())),
                   {fmt::format("CPU used by each of {} ranks", self.size()), "%", figure_of(ours), "nanosleep",
                    figure_of(limit), 0, std::nullopt});
}

}  // namespace

std::unique_ptr<Benchmark> idle_benchmark() {
  return benchmark_of({.name = "idle", .help = "CPU time of ranks that wait", .ranks = {16}, .ranks_min = 2},
                      bench_idle);
}

}  // namespace coracle::internals::bench
