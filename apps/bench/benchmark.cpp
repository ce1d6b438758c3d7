// What benchmarks do unless they say otherwise, and the list of them.
#include "apps/bench/benchmark.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace coracle::internals::bench {
namespace {

class FunctionBenchmark final : public Benchmark {
 public:
  using Run = Task<> (*)(Bench& bench);
  FunctionBenchmark(Facts facts, Run inside, Run between)
      : facts_(std::move(facts)), inside_(inside), between_(between) {
    facts_.between_nodes = between != nullptr;
  }
  Facts facts() const override { return facts_; }
  Task<> run(Bench& bench) override { return bench.self.nodes() > 1 ? between_(bench) : inside_(bench); }

 private:
  Facts facts_;
  Run inside_;
  Run between_;
};

}  // namespace

std::vector<std::string> Choices::chosen_of(const std::vector<std::string>& parts) const {
  std::vector<std::string> chosen;
  for (const std::string& part : parts)
    if (std::find(only.begin(), only.end(), part) != only.end()) chosen.push_back(part);
  return chosen.empty() ? parts : chosen;
}

std::vector<Placement> Request::placements_or_both() const {
  return placement ? std::vector{*placement} : std::vector{Placement::pvas, Placement::process};
}

JobPlan Request::job_of(std::uint32_t size) const {
  return {placement.value_or(Placement::pvas), std::max(size, nodes), nodes};
}

Task<> Comparison::run() {
  co_await contest_.run();
  if (!bench_.keeps_time()) co_return;
  for (const auto& [name, way] : ways_) {
    for (const auto& [limit_name, limit] : limits_) {
      const bool first = limit == limits_.front().second;
      bench_.report.add(title_,
                        contest_.row(first ? name : name + ", the same", way, limit_name, limit, bytes_, factor_));
    }
  }
}

void Benchmark::add_options(OptionGroup&, Choices&) {}

void Benchmark::check(const Request&) {}

std::vector<std::uint32_t> Benchmark::ranks(const Request& request) const {
  return request.ranks.empty() ? facts().ranks : request.ranks;
}

Report Benchmark::measure(Jobs& jobs) {
  Report report;
  for (const std::uint32_t size : ranks(jobs.request())) report.merge(jobs.run(*this, jobs.request().job_of(size)));
  return report;
}

int Benchmark::assist(std::span<const char* const>) {
  return 1;
}

std::unique_ptr<Benchmark> benchmark_of(Benchmark::Facts facts, Task<> (*run)(Bench& bench),
                                        Task<> (*run_between_nodes)(Bench& bench)) {
  return std::make_unique<FunctionBenchmark>(std::move(facts), run, run_between_nodes);
}

std::vector<std::string> words_of_assistant(const Benchmark& benchmark) {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), kAssist, benchmark.facts().name};
}

Benchmarks all_benchmarks() {
  Benchmarks all;
  for (const auto make :
       {loop_benchmark,     put_benchmark,      get_benchmark,     vis_benchmark,     am_benchmark,
        pingpong_benchmark, matching_benchmark, atomics_benchmark, barrier_benchmark, coll_benchmark,
        pack_benchmark,     ddt_benchmark,      idle_benchmark,    spawn_benchmark,   pagetables_benchmark,
        arrival_benchmark,  pages_benchmark,    mapped_benchmark,  dma_benchmark,     tune_benchmark})
    all.push_back(make());
  return all;
}

Benchmark* find_benchmark(const Benchmarks& benchmarks, std::string_view name) {
  for (const auto& benchmark : benchmarks)
    if (benchmark->facts().name == name) return benchmark.get();
  return nullptr;
}

}  // namespace coracle::internals::bench
