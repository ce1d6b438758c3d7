// `coracle bench spawn`, a rank's part: how long it took until all were there, and what memory they take.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "apps/coracle/bench/benchmarks.hpp"
#include "collectives/collectives.hpp"
#include "runtime/error.hpp"

namespace coracle::bench {
namespace {

double monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// The value in bytes of a line such as "VmPTE:     48 kB".
double kilobytes_line(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, key.size(), key) == 0) return std::stod(line.substr(key.size())) * 1024;
  throw Error(Errc::unsupported, fmt::format("{} has no line {}", path, key));
}

struct Memory {
  double page_tables = 0;
  double proportional = 0;
};

Memory memory_of(const std::string& process) {
  return {kilobytes_line(fmt::format("/proc/{}/status", process), "VmPTE:"),
          kilobytes_line(fmt::format("/proc/{}/smaps_rollup", process), "Pss:")};
}

/// Ranks that share an address space share its page tables too, which then count once (with the launcher's, whose
/// address space it is).
Memory memory_of_all(Rank& self) {
  if (self.placement() != Placement::process) return memory_of("self");
  Memory sum;
  for (std::uint32_t rank = 0; rank < self.size(); ++rank) {
    // relaxed: stored long before the collective that has ended here.
    const auto pid = self.core().region().block(rank).pid.load(std::memory_order_relaxed);
    const Memory memory = memory_of(std::to_string(pid));
    sum.page_tables += memory.page_tables;
    sum.proportional += memory.proportional;
  }
  return sum;
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
    const Memory memory = memory_of_all(self);
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

}  // namespace coracle::bench
