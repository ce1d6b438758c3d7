// Starting the ranks of a benchmark, and being one.
#include "apps/coracle/bench/job.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <coracle/coracle.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "apps/coracle/commands.hpp"
#include "apps/coracle/job_choices.hpp"
#include "runtime/error.hpp"
#include "runtime/launch/cores.hpp"
#include "runtime/launch/head_launcher.hpp"
#include "runtime/launch/launcher.hpp"

namespace coracle::internals {
namespace bench {
namespace {

/// What a rank is told.
struct RankWords {
  std::string benchmark;
  std::string report;
  std::uint64_t started_ns = 0;
  bool quick = false;
  Choices choices;
  UpaWords upa;
  std::optional<UpaOptions> upa_options;
  DdtWords ddt;
  std::optional<DdtOptions> ddt_options;
  PagesWords pages;
  std::optional<PagesOptions> pages_options;
  MappedWords mapped;
  std::optional<MappedBenchOptions> mapped_options;
};

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

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(now.tv_nsec);
}

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

Task<> run_rank(Rank& self, const RankWords& words) {
  const Benchmark* benchmark = find_benchmark(words.benchmark);
  if (benchmark == nullptr) throw Error(Errc::bad_input, fmt::format("no benchmark is named {}", words.benchmark));
  if (benchmark->run != bench_spawn && benchmark->run != bench_mapped) pin(self);
  const bool between_nodes = self.nodes() > 1;
  const UpaOptions* upa = words.upa_options ? &*words.upa_options : nullptr;
  const DdtOptions* ddt = words.ddt_options ? &*words.ddt_options : nullptr;
  const PagesOptions* pages = words.pages_options ? &*words.pages_options : nullptr;
  const MappedBenchOptions* mapped = words.mapped_options ? &*words.mapped_options : nullptr;
  Bench bench{self, plan_of(between_nodes, words.quick), words.choices, words.started_ns, {}, upa, ddt, pages, mapped};
  co_await (between_nodes ? benchmark->run_between_nodes : benchmark->run)(bench);
  if (self.id() != 0) co_return;
  std::ofstream file(words.report, std::ios::trunc);
  file << bench.report.to_json() << std::flush;
  if (!file) throw Error(Errc::bad_input, fmt::format("can't write the report to {}", words.report));
}

/// Room for a cache and what is beside it.
std::uint64_t pages_segment_bytes(const JobPlan& plan) {
  constexpr std::uint64_t kBeside = 16 << 20;
  constexpr std::uint64_t kCacheInSim = 16 << 20;
  constexpr std::uint64_t kLargePages = 64 << 20;  // 16 of the largest
  if (plan.placement == Placement::sim) return kBeside + kCacheInSim;
  return kBeside + std::max(kLargePages, pages_options(plan.pages).cache_bytes);
}

/// Room for a cache of all the memory, or of 8 of the largest pages.
std::uint64_t mapped_segment_bytes(const JobPlan& plan) {
  constexpr std::uint64_t kBeside = 16 << 20;
  return kBeside + mapped_options(plan.mapped, "").memory_bytes * 9 / 8;
}

/// Room for the longest message, where that is all that is needed.
std::uint64_t segment_bytes(const Benchmark& benchmark, const JobPlan& plan) {
  constexpr std::uint64_t kBeside = 1 << 20;
  if (benchmark.segment_bytes != 0) return benchmark.segment_bytes;
  if (benchmark.run == bench_pages) return pages_segment_bytes(plan);
  if (benchmark.run == bench_mapped) return mapped_segment_bytes(plan);
  std::uint64_t longest = *std::max_element(std::begin(kUpaSizes), std::end(kUpaSizes));
  for (const std::uint64_t bytes : plan.choices.sizes) longest = std::max(longest, bytes);
  return longest + kBeside;
}

/// Of `pagetables`: processes send through buffers that both sides have mapped, as MPI's shared memory does, also what
/// would be eager.
void set_way_of_messages(JobOptions& options) {
  constexpr std::uint32_t kInTheRing = 512;
  if (options.shape.placement != Placement::process) return;
  options.shape.messages.way = MessageWay::shm;
  options.shape.messages.eager_bytes = kInTheRing;
}

}  // namespace

Report run_job(const Benchmark& benchmark, const JobPlan& plan) {
  const ReportFile file;
  JobOptions options;
  options.shape.placement = plan.placement;
  options.shape.size = plan.ranks;
  options.shape.nodes = plan.nodes;
  options.shape.network.transport = plan.transport;
  options.shape.segment_bytes = segment_bytes(benchmark, plan);
  options.shape.seed = plan.seed;
  plan.network_file.copy(options.shape.network_file.data(), options.shape.network_file.size() - 1);
  options.shape.inbox_bytes = transport_inbox_bytes((plan.ranks + plan.nodes - 1) / plan.nodes);
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  options.arguments = {"bench-rank", benchmark.name, "--report",
                       file.path(),  "--started",    std::to_string(monotonic_ns())};
  if (plan.quick) options.arguments.push_back("--quick");
  for (const std::uint64_t bytes : plan.choices.sizes) {
    options.arguments.push_back("--size");
    options.arguments.push_back(std::to_string(bytes));
  }
  for (const std::string& name : plan.choices.collectives) {
    options.arguments.push_back("--collective");
    options.arguments.push_back(name);
  }
  if (benchmark.run == bench_pagetables && plan.choices.rounds != 0) {
    options.arguments.push_back("--rounds");
    options.arguments.push_back(std::to_string(plan.choices.rounds));
  }
  if (benchmark.run == bench_pagetables) set_way_of_messages(options);
  if (benchmark.run == bench_upa) {
    const auto words = to_arguments(plan.upa);
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
  }
  if (benchmark.run == bench_ddt) {
    const auto words = to_arguments(plan.ddt);
    options.arguments.insert(options.arguments.end(), words.begin(), words.end());
  }
  std::optional<PagesFolder> folder;  // gone however the job ends
  std::optional<MappedGroups> groups;
  if (benchmark.run == bench_mapped) {
    PagesWords words = plan.pages;
    words.path = folder.emplace(words.path).path();
    groups.emplace(mapped_options(plan.mapped, words.path).memory_bytes, !plan.mapped.rival.empty());
    for (const auto& arguments : {to_arguments(words), to_arguments(groups->tell(plan.mapped))})
      options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  }
  if (benchmark.run == bench_pages) {
    PagesWords words = plan.pages;
    if (plan.placement != Placement::sim) words.path = folder.emplace(words.path).path();
    const auto arguments = to_arguments(words);
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  }
  set_choices(options);
  const bool apart = plan.nodes > 1 && plan.placement != Placement::sim;
  const int status = apart ? HeadLauncher(options).run() : Launcher(options).run();
  if (status != 0)
    throw Error(Errc::bad_input,
                fmt::format("the job of `coracle bench {}` ended with status {}", benchmark.name, status));
  return file.read();
}

}  // namespace bench

void add_bench_rank_command(CLI::App& app, int& status) {
  auto words = std::make_shared<bench::RankWords>();
  CLI::App* command = app.add_subcommand("bench-rank", "One rank of a benchmark; started by `coracle bench`");
  command->group("");  // not shown
  command->add_option("benchmark", words->benchmark)->required();
  command->add_option("--report", words->report)->required();
  command->add_option("--started", words->started_ns)->required();
  command->add_flag("--quick", words->quick);
  command->add_option("--size", words->choices.sizes);
  command->add_option("--collective", words->choices.collectives);
  bench::add_upa_options(*command, words->upa);
  command->add_option("--pattern", words->ddt.patterns);
  bench::add_ddt_options(*command, words->ddt);
  bench::add_pages_options(*command, words->pages);
  bench::add_mapped_rank_options(*command, words->mapped);
  command->callback([words, &status] {
    if (words->benchmark == "upa") words->upa_options = bench::upa_options(words->upa);
    words->choices.rounds = static_cast<std::uint64_t>(words->ddt.rounds);
    if (words->benchmark == "pages") words->pages_options = bench::pages_options(words->pages);
    if (words->benchmark == "mapped") words->mapped_options = bench::mapped_options(words->mapped, words->pages.path);
    if (words->benchmark == "ddt") words->ddt_options = bench::ddt_options(words->ddt);
    status = run(0, nullptr, [words](Rank& self) { return bench::run_rank(self, *words); });
  });
}

}  // namespace coracle::internals
