// `coracle bench`: what the library costs on this machine, each figure beside the limit measured in the same run. Each
// benchmark is a job of its own: this very program is started as the job's ranks, with the user's own words behind what
// else they are told, and rank 0 hands its report back.
#include <fmt/format.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <coracle/coracle.hpp>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/bench/benchmark.hpp"
#include "apps/common/command_line.hpp"
#include "apps/coracle/machine.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/launch/head_launcher.hpp"
#include "runtime/launch/job_options.hpp"
#include "runtime/launch/launcher.hpp"
#include "runtime/launch/say.hpp"
#include "transports/connect.hpp"

namespace coracle::internals::bench {
namespace {

/// First word of a rank: the next tells its part, and the user's own follow.
inline constexpr const char* kAsRank = "--as-rank";

/// A file without a name, which is gone with this process; ranks open it by its path.
class ReportFile {
 public:
  ReportFile() : fd_(::memfd_create("coracle-bench", MFD_CLOEXEC)) {
    if (!fd_) throw_errno(errno, "can't make a place for the report of a benchmark (memfd_create)");
  }
  std::string path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get()); }
  Report read() const {
    std::ifstream file(path());
    return Report::from_json(nlohmann::json::parse(file));
  }

 private:
  FileDescriptor fd_;
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

/// The folder of this program, in which the others of Coracle are, too; ends with a slash.
std::string own_folder() {
  return own_path().parent_path().string() + "/";
}

class CommandJobs final : public Jobs {
 public:
  /// `words`: the user's, without the program's name. The request must outlive it.
  CommandJobs(const Request& request, std::vector<std::string> words) : request_(request), words_(std::move(words)) {}
  const Request& request() const noexcept override { return request_; }
  Report run(const Benchmark& benchmark, const JobPlan& plan) override {
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
    const nlohmann::json part = {
        {"benchmark", name}, {"report", file.path()}, {"started_ns", now_ns()}, {"told", plan.told}};
    ProgramPart& program = options.programs.emplace_back();
    program.program = own_path().string();
    program.ranks = plan.ranks;
    program.arguments = {kAsRank, part.dump()};
    program.arguments.insert(program.arguments.end(), words_.begin(), words_.end());
    set_choices(options);
    const bool apart = plan.nodes > 1 && plan.placement != Placement::sim;
    const int status = apart ? HeadLauncher(options).run() : Launcher(options).run();
    if (status != 0)
      throw Error(Errc::bad_input, fmt::format("the job of `coracle bench {}` ended with status {}", name, status));
    return file.read();
  }

 private:
  const Request& request_;
  std::vector<std::string> words_;
};

/// Is a rank; gives its exit status. `part`: the word behind kAsRank.
int be_rank(const Benchmarks& benchmarks, const Request& request, const std::string& part) {
  const nlohmann::json told = nlohmann::json::parse(part);
  const auto name = told.at("benchmark").get<std::string>();
  Benchmark* const benchmark = find_benchmark(benchmarks, name);
  if (benchmark == nullptr) throw Error(Errc::bad_input, fmt::format("no benchmark is named {}", name));
  return coracle::run(0, nullptr, [&](Rank& self) { return run_rank(self, *benchmark, request, told); });
}

double load_average() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : 0;
}

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

nlohmann::json description_of(const Machine& machine, bool quick) {
  return {{"version", CORACLE_VERSION},
          {"compiler", compiler()},
          {"processor", machine.processor},
          {"kernel", machine.kernel},
          {"cores", machine.cores.size()},
          {"memory_bytes", machine.memory_bytes},
          {"load_average", load_average()},
          {"quick", quick},
          {"benchmarks", nlohmann::json::object()}};
}

void print_heading(const nlohmann::json& description) {
  fmt::print("coracle {}, {}; {}, {} usable cores; {}\n", description["version"].get<std::string>(),
             description["compiler"].get<std::string>(), description["processor"].get<std::string>(),
             description["cores"].get<std::size_t>(), description["kernel"].get<std::string>());
  fmt::print("Medians of batches; only ratios within one run can be compared. Load average {:.2f}{}.\n",
             description["load_average"].get<double>(),
             description["quick"].get<bool>() ? "; --quick: the figures mean little" : "");
#if !defined(__OPTIMIZE__)
  fmt::print("This build is not optimised: its figures mean nothing.\n");
#endif
}

void measure_all(const Request& request, Jobs& jobs) {
  std::ofstream json_file;
  const auto expect_file = [&] {
    if (!json_file) throw_errno(errno, fmt::format("--json: can't write {}", request.json_file));
  };
  if (!request.json_file.empty()) {
    json_file.open(request.json_file, std::ios::trunc);
    expect_file();
  }
  nlohmann::json result = description_of(look_at_machine(), request.quick);
  print_heading(result);
  for (Benchmark* benchmark : request.benchmarks) {
    const Report report = benchmark->measure(jobs);
    report.print();
    benchmark->after_print();
    std::fflush(stdout);
    result["benchmarks"][benchmark->facts().name] = report.to_json();
  }
  if (request.json_file.empty()) return;
  json_file << result.dump(2) << '\n' << std::flush;
  expect_file();
}

/// `part`: null in the command itself, else what tells a rank its part. In both `argv[0]` is skipped.
int start(const Benchmarks& benchmarks, const char* part, int argc, char** argv) {
  constexpr int kUsage = 2;
  try {
    const std::variant<Request, std::string> request_or_help = parse(benchmarks, argc, argv);
    if (const auto* const help = std::get_if<std::string>(&request_or_help)) {
      fmt::print("{}", *help);
      return 0;
    }
    const auto& request = std::get<Request>(request_or_help);
    if (part != nullptr) return be_rank(benchmarks, request, part);
    CommandJobs jobs(request, {argv + 1, argv + argc});
    measure_all(request, jobs);
    return 0;
  } catch (const WrongUsage& error) {
    say("{} (`coracle bench --help` explains)", error.what());
    return kUsage;
  }
}

/// What this process is: the command, a rank of a benchmark, or a helper of one.
int run(int argc, char** argv) {
  const Benchmarks benchmarks = all_benchmarks();
  const std::string_view first = argc > 2 ? argv[1] : "";
  try {
    if (first == kAsRank) return start(benchmarks, argv[2], argc - 2, argv + 2);
    if (first != kAssist) return start(benchmarks, nullptr, argc, argv);
    Benchmark* const benchmark = find_benchmark(benchmarks, argv[2]);
    return benchmark == nullptr ? 1 : benchmark->assist({argv + 3, argv + argc});
  } catch (const std::exception& error) {
    say("{}", error.what());
    return 1;
  }
}

}  // namespace

}  // namespace coracle::internals::bench

int main(int argc, char** argv) {
  return coracle::internals::bench::run(argc, argv);
}
