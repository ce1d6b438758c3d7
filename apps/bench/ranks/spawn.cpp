// `coracle bench spawn`: how long it takes until all ranks are there, and what memory they take. The command starts
// jobs of several sizes and placements in alternation, and makes one table of what their ranks report.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <map>

#include "apps/bench/benchmark.hpp"
#include "apps/bench/ranks/process_memory.hpp"
#include "collectives/collectives.hpp"
#include "runtime/core/error.hpp"

extern char** environ;

namespace coracle::internals::bench {
namespace {

// --- a rank's part ---

Row single(const std::string& name, const char* unit, double value) {
  return {.name = name, .unit = unit, .value = exactly(value)};
}

Task<> bench_spawn(Bench& bench) {
  Rank& self = bench.self;
  double attached_ns = now_ns() - bench.started_ns;
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
  const auto since_start_ns = [&] { return now_ns() - bench.started_ns; };
  const double attached_ns = co_await self.world().all_reduce(since_start_ns(), later);
  co_await self.world().barrier();
  if (!bench.keeps_time()) co_return;
  bench.report.add("spawn", single("attached", "ns", attached_ns));
  bench.report.add("spawn", single("met", "ns", since_start_ns()));
}

// --- the command's part ---

const char* const kSpawnQuantities[] = {"start", "page tables", "PSS"};
using Samples = std::map<std::string, std::vector<double>>;  // by quantity

/// The kernel's and the dynamic linker's part of a start: the smallest program there is.
Figure plain_spawns(int count) {
  std::vector<double> samples;
  char name[] = "true";
  char* arguments[] = {name, nullptr};
  for (int i = 0; i < count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    pid_t pid = 0;
    const int error = ::posix_spawnp(&pid, name, nullptr, nullptr, arguments, environ);
    if (error != 0) throw_errno(error, "can't start the program true, beside which ranks are measured");
    ::waitpid(pid, nullptr, 0);
    samples.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
  }
  return figure_of(samples);
}

class SpawnBenchmark final : public Benchmark {
 public:
  Facts facts() const override {
    return {.name = "spawn",
            .help = "start, page tables and memory of ranks, pvas beside process",
            .ranks = {16, 64, 240, 1000},
            .segment_bytes = 16 << 20,
            .between_nodes = true,
            .pinned = false};
  }
  Report measure(Jobs& jobs) override { return jobs.request().nodes > 1 ? between_nodes(jobs) : inside_node(jobs); }
  Task<> run(Bench& bench) override { return bench.self.nodes() > 1 ? bench_node_spawn(bench) : bench_spawn(bench); }

 private:
  using ByPlacement = std::map<Placement, Samples>;

  /// Of `rounds` jobs in each placement.
  ByPlacement sample(Jobs& jobs, std::uint32_t size, int rounds) const {
    ByPlacement samples;
    for (int round = 0; round < (jobs.request().quick ? 1 : rounds); ++round) {
      for (const Placement placement : jobs.request().placements_or_both()) {
        JobPlan plan = jobs.request().job_of(size);
        plan.placement = placement;
        const Report report = jobs.run(*this, plan);
        for (const Table& table : report.tables())
          for (const Row& row : table.rows) samples[placement][row.name].push_back(row.value.median);
      }
    }
    return samples;
  }

  Report inside_node(Jobs& jobs) const {
    const std::vector<Placement> placements = jobs.request().placements_or_both();
    const Figure plain = plain_spawns(jobs.request().quick ? 3 : 50);
    Report report;
    for (const std::uint32_t size : ranks(jobs.request())) {
      ByPlacement samples = sample(jobs, size, size > 500 ? 3 : 7);
      for (const char* quantity : kSpawnQuantities) {
        for (const Placement each : placements) {
          Row row{.name = fmt::format("{} ranks, {}, {}", size, to_string(each), quantity),
                  .unit = std::string(quantity) == "start" ? "ns" : "B",
                  .value = figure_of(samples[each][quantity])};
          if (each == Placement::pvas && placements.size() > 1) {
            row.limit_name = "the same in placement process";
            row.limit = figure_of(samples[Placement::process][quantity]);
          } else if (row.unit == "ns") {
            row.limit_name = "posix_spawn and wait of the program true";
            row.limit = plain;
          }
          report.add("Ranks: time until all have attached, page tables and memory, per rank", row);
        }
      }
    }
    return report;
  }

  Report between_nodes(Jobs& jobs) const {
    const std::uint32_t nodes = jobs.request().nodes;
    const Figure plain = plain_spawns(jobs.request().quick ? 3 : 50);
    Report report;
    for (const std::uint32_t size : ranks(jobs.request())) {
      ByPlacement samples = sample(jobs, size, 7);
      for (const Placement each : jobs.request().placements_or_both()) {
        const auto add = [&](const char* quantity, const char* what) {
          report.add(
              "Jobs over several nodes: time from the command on, all ranks together",
              {.name = fmt::format("{} ranks on {} nodes, {}, {}", std::max(size, nodes), nodes, to_string(each), what),
               .value = figure_of(samples[each][quantity]),
               .limit_name = "as many times posix_spawn and wait of the program true",
               .limit = scaled(plain, std::max(size, nodes))});
        };
        add("attached", "until all have attached");
        add("met", "until their first barrier is over");
      }
    }
    return report;
  }
};

}  // namespace

std::unique_ptr<Benchmark> spawn_benchmark() {
  return std::make_unique<SpawnBenchmark>();
}

}  // namespace coracle::internals::bench
