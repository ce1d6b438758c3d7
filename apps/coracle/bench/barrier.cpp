// `coracle bench barrier` and `idle`: many ranks on few cores: what meeting costs, and what waiting costs.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include "apps/coracle/bench/benchmarks.hpp"
#include "apps/coracle/bench/raw.hpp"
#include "collectives/collectives.hpp"
#include "runtime/error.hpp"
#include "runtime/event.hpp"

namespace coracle::internals::bench {
namespace {

Task<> barriers(Rank& self, std::uint64_t count) {
  for (; count != 0; --count) co_await self.world().barrier();
}

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

}  // namespace

Task<> bench_barrier(Bench& bench) {
  Rank& self = bench.self;
  auto slab = self.allocate<RawBarrier>(1);
  const auto remotes = co_await self.world().gather_all(slab.remote());
  RawBarrier* raw = self.reach(remotes[0]);
  if (raw == nullptr) throw Error(Errc::unsupported, "the limit of this benchmark needs ranks that share memory");
  const bool enough_cores = self.core().region().shape().idle.spins > 0;
  Contest contest(self, bench.plan);
  const auto ours = contest.add([&](std::uint64_t count) { return barriers(self, count); });
  const auto limit = contest.add_plain([&](std::uint64_t count) {
    for (; count != 0; --count) raw->wait(self.size(), enough_cores ? 100'000 : 0);
  });
  co_await contest.run();
  if (!bench.keeps_time()) co_return;
  bench.report.add(fmt::format("Barrier, placement {}", to_string(self.placement())),
                   {fmt::format("{} ranks", self.size()), "ns", contest.figure(ours),
                    enough_cores ? "one counter, spinning" : "one counter, sched_yield", contest.figure(limit), 0,
                    contest.allocations(ours)});
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

}  // namespace coracle::internals::bench
