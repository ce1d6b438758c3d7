// Starting the ranks of a benchmark, and being one.
#include "apps/bench/job.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#include <coracle/coracle.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "apps/coracle/job_choices.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/cores.hpp"
#include "runtime/launch/head_launcher.hpp"
#include "runtime/launch/launcher.hpp"
#include "transports/connect.hpp"

namespace coracle::internals::bench {
namespace {

/// A file without a name, which is gone with this process; ranks open it by its path.
class ReportFile {
 public:
  ReportFile() : fd_(::memfd_create("coracle-bench", MFD_CLOEXEC)) {
    if (fd_ < 0) throw_errno(errno, "can't make a place for the report of a benchmark (memfd_create)");
  }
  ~ReportFile() { ::close(fd_); }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

  std::string path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_); }
  Report read() const {
    std::ifstream file(path());
    return Report::from_json(nlohmann::json::parse(file));
  }

 private:
  int fd_;
};

/// Where the launcher does not: it pins processes, and more than one.
void pin(const Rank& self) {
  if (self.placement() != Placement::thread && self.size() > 1) return;
  const auto cores = usable_cores();
  if (self.size() > cores.size()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cores[self.id()]) CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

/// What goes through a network's queues needs longer batches.
Plan plan_of(bool between_nodes, bool quick) {
  if (quick) return quick_plan();
  Plan plan;
  if (between_nodes) plan.batch_ns = 5e6;
  return plan;
}

Task<> run_rank(Rank& self, Benchmark& benchmark, const Request& request, const nlohmann::json& part) {
  if (benchmark.facts().pinned) pin(self);
  Bench bench{self, plan_of(self.nodes() > 1, request.quick), request.choices, part.at("started_ns"), part.at("told")};
  co_await benchmark.run(bench);
  if (self.id() != 0) co_return;
  const auto report = part.at("report").get<std::string>();
  std::ofstream file(report, std::ios::trunc);
  file << bench.report.to_json() << std::flush;
  if (!file) throw Error(Errc::bad_input, fmt::format("can't write the report to {}", report));
}

std::filesystem::path own_path() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace

std::string own_folder() {
  return own_path().parent_path().string() + "/";
}

Report CommandJobs::run(const Benchmark& benchmark, const JobPlan& plan) {
  const ReportFile file;
  const std::string name = benchmark.facts().name;
  JobOptions options;
  options.shape.placement = plan.placement;
  options.shape.size = plan.ranks;
  options.shape.nodes = plan.nodes;
  options.shape.network.transport = request_.transport;
  options.shape.messages = plan.messages;
  options.shape.segment_bytes = benchmark.segment_bytes(request_);
  options.shape.seed = request_.seed;
  request_.network_file.copy(options.shape.network_file.data(), options.shape.network_file.size() - 1);
  options.shape.inbox_bytes = transport_inbox_bytes((plan.ranks + plan.nodes - 1) / plan.nodes);
  options.command = own_folder() + "coracle";
  options.program = own_path().string();
  const nlohmann::json part = {
      {"benchmark", name}, {"report", file.path()}, {"started_ns", now_ns()}, {"told", plan.told}};
  options.arguments = {kAsRank, part.dump()};
  options.arguments.insert(options.arguments.end(), words_.begin(), words_.end());
  set_choices(options);
  const bool apart = plan.nodes > 1 && plan.placement != Placement::sim;
  const int status = apart ? HeadLauncher(options).run() : Launcher(options).run();
  if (status != 0)
    throw Error(Errc::bad_input, fmt::format("the job of `coracle bench {}` ended with status {}", name, status));
  return file.read();
}

int be_rank(const Benchmarks& benchmarks, const Request& request, const std::string& part) {
  const nlohmann::json told = nlohmann::json::parse(part);
  const auto name = told.at("benchmark").get<std::string>();
  Benchmark* const benchmark = find_benchmark(benchmarks, name);
  if (benchmark == nullptr) throw Error(Errc::bad_input, fmt::format("no benchmark is named {}", name));
  return coracle::run(0, nullptr, [&](Rank& self) { return run_rank(self, *benchmark, request, told); });
}

}  // namespace coracle::internals::bench
