// `coracle bench`: what the library costs on this machine, each figure beside the limit measured in the same run.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string_view>

#include "apps/coracle/bench/gpu.hpp"
#include "apps/coracle/bench/job.hpp"
#include "apps/coracle/bench/pagetables_table.hpp"
#include "apps/coracle/bench/spawn_table.hpp"
#include "apps/coracle/bench/tuned.hpp"
#include "apps/coracle/commands.hpp"
#include "apps/coracle/job_choices.hpp"
#include "apps/coracle/machine.hpp"
#include "apps/coracle/units.hpp"
#include "apps/strict_options.hpp"
#include "runtime/error.hpp"

namespace coracle::internals {
namespace {

using bench::Benchmark;

/// Of `coll`: the buffers of every rank hold one block per rank.
constexpr std::uint64_t kSizeMax = 16 << 20;

/// The options as the user wrote them.
struct BenchWords {
  std::vector<std::string> names;
  std::vector<std::string> ranks;
  std::string placement;
  std::string nodes = "1";
  std::string transport = "auto";
  std::vector<std::string> sizes;
  std::vector<std::string> only;
  std::string json_file;
  std::string network_file;
  std::string seed;
  bench::UpaWords upa;
  bench::DdtWords ddt;
  bench::PagesWords pages;
  bench::MappedWords mapped;
  std::string device = "peach2";
  bool quick = false;
};

struct BenchOptions {
  std::vector<const Benchmark*> benchmarks;
  std::vector<std::uint32_t> ranks;
  std::optional<Placement> placement;
  std::uint32_t nodes = 1;
  RemoteTransport transport = RemoteTransport::automatic;
  bench::Choices choices;
  bench::DdtWords ddt;
  std::uint64_t seed = 1;
  std::optional<int> gpu;  ///< Of `dma`; none: the model.
};

[[noreturn]] void wrong(const std::string& what) {
  throw CLI::ValidationError(what);
}

std::string names_of_all() {
  std::string names;
  for (const Benchmark& benchmark : bench::benchmarks()) names += fmt::format("{}, ", benchmark.name);
  return names + "all";
}

void select(const std::string& name, std::vector<const Benchmark*>& selected) {
  const auto add = [&selected](const Benchmark& benchmark) {  // once, however often it is named
    if (std::find(selected.begin(), selected.end(), &benchmark) == selected.end()) selected.push_back(&benchmark);
  };
  if (name == "all") {
    // Page tables take an hour by themselves, in which nothing is timed.
    for (const Benchmark& benchmark : bench::benchmarks())
      if (benchmark.run != bench::bench_pagetables) add(benchmark);
  } else if (const Benchmark* benchmark = bench::find_benchmark(name)) {
    add(*benchmark);
  } else {
    wrong(fmt::format("no benchmark is named '{}'; there are {}", name, names_of_all()));
  }
}

std::uint32_t count(const char* option, const std::string& word) {
  constexpr std::uint32_t kMost = 1 << 20;
  const auto value = parse_whole(word, 1, kMost);
  if (!value) wrong(fmt::format("{} {}: must be from 1 to {}", option, word, kMost));
  return static_cast<std::uint32_t>(*value);
}

void set_nodes(const BenchWords& words, BenchOptions& options) {
  options.nodes = count("--nodes", words.nodes);
  for (const std::uint32_t ranks : options.ranks)
    if (ranks < options.nodes) wrong(fmt::format("--nodes {}: there are only {} ranks", options.nodes, ranks));
  if (options.nodes > 1) {
    for (const Benchmark* benchmark : options.benchmarks)
      if (benchmark->run_between_nodes == nullptr)
        wrong(fmt::format("--nodes {}: {} is about one node", options.nodes, benchmark->name));
  }
  if (words.transport == "auto") return;
  if (options.nodes == 1) wrong("--transport: only --nodes 2 and more use one");
  if (words.transport == "tcp")
    options.transport = RemoteTransport::tcp;
  else if (words.transport == "verbs")
    options.transport = RemoteTransport::verbs;
  else
    wrong(fmt::format("--transport {}: must be auto, tcp or verbs", words.transport));
}

/// An option that none of the chosen benchmarks reads would mislead who gave it.
void check_read(const char* option, std::initializer_list<std::string_view> readers, const BenchOptions& options) {
  const auto reads = [&](const Benchmark* each) {
    return std::find(readers.begin(), readers.end(), each->name) != readers.end();
  };
  if (std::none_of(options.benchmarks.begin(), options.benchmarks.end(), reads))
    wrong(fmt::format("{}: is only for {}", option, fmt::join(readers, ", ")));
}

bool measures(const BenchOptions& options, Task<> (*run)(bench::Bench& bench)) {
  return std::any_of(options.benchmarks.begin(), options.benchmarks.end(),
                     [run](const Benchmark* each) { return each->run == run; });
}

/// `--only` names collectives or patterns: each name must mean something to one of the chosen benchmarks.
void set_only(const BenchWords& words, BenchOptions& options) {
  if (words.only.empty()) return;
  check_read("--only", {"coll", "ddt"}, options);
  std::vector<std::string> known;
  const auto take = [&](Task<> (*run)(bench::Bench& bench), const std::vector<std::string>& names,
                        std::vector<std::string>& chosen) {
    if (!measures(options, run)) return;
    known.insert(known.end(), names.begin(), names.end());
    for (const std::string& name : words.only)
      if (std::find(names.begin(), names.end(), name) != names.end()) chosen.push_back(name);
  };
  take(bench::bench_coll, bench::collective_names(), options.choices.collectives);
  take(bench::bench_ddt, bench::ddt_pattern_names(), options.ddt.patterns);
  for (const std::string& name : words.only)
    if (std::find(known.begin(), known.end(), name) == known.end())
      wrong(fmt::format("--only {}: there are {}", name, fmt::join(known, ", ")));
}

void set_ddt(const BenchWords& words, BenchOptions& options) {
  const bool asked = !words.ddt.ways.empty() || !words.ddt.bytes_max.empty();
  if (asked) check_read("--ways, --bytes-max", {"ddt"}, options);
  if (words.ddt.rounds != 0) check_read("--rounds", {"ddt", "pagetables"}, options);
  options.ddt.ways = words.ddt.ways;
  options.ddt.bytes_max = words.ddt.bytes_max;
  options.ddt.rounds = words.ddt.rounds;
  static_cast<void>(bench::ddt_options(options.ddt));  // says what is wrong with them
  options.choices.rounds = static_cast<std::uint64_t>(words.ddt.rounds);
}

void set_choices(const BenchWords& words, BenchOptions& options) {
  if (!words.sizes.empty()) check_read("--sizes", {"coll", "pagetables", "pingpong", "upa"}, options);
  set_only(words, options);
  for (const std::string& size : words.sizes) {
    const auto bytes = parse_bytes(size);
    if (!bytes || *bytes == 0 || *bytes % 8 != 0 || *bytes > kSizeMax)
      wrong(fmt::format("--sizes {}: must be a multiple of 8 bytes, at most 16M", size));
    options.choices.sizes.push_back(*bytes);
  }
}

void check_pages(const BenchWords& words, const BenchOptions& options) {
  const bench::PagesWords usual;
  const bench::PagesWords& asked = words.pages;
  if (!asked.path.empty()) check_read("--path", {"pages", "mapped"}, options);
  if (asked.file_bytes != usual.file_bytes || asked.cache_bytes != usual.cache_bytes)
    check_read("--file-bytes, --cache-bytes", {"pages"}, options);
  if (words.mapped.memory_bytes != bench::MappedWords().memory_bytes || !words.mapped.rival.empty())
    check_read("--memory-bytes, --rival", {"mapped"}, options);
  if (measures(options, bench::bench_mapped)) static_cast<void>(bench::mapped_options(words.mapped, asked.path));
  if (measures(options, bench::bench_pages)) static_cast<void>(bench::pages_options(asked));
}

void check_upa(const BenchWords& words, BenchOptions& options) {
  if (measures(options, bench::bench_upa)) static_cast<void>(bench::upa_options(words.upa));
  const bool in_sim = words.placement == to_string(Placement::sim);
  if (!words.seed.empty()) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto seed = parse_whole(words.seed, 0, kMost);
    if (!seed) wrong(fmt::format("--seed {}: must be from 0 to {}", words.seed, kMost));
    if (!in_sim) wrong("--seed: only --place sim has a schedule to repeat; add that, or leave it out");
    options.seed = *seed;
  }
  if (words.network_file.empty()) return;
  if (!in_sim) wrong("--network: only the simulated network of --place sim reads a model");
  if (words.network_file.size() >= JobShape().network_file.size())
    wrong(fmt::format("--network: the path is longer than {} characters", JobShape().network_file.size() - 1));
}

/// A GPU is used by the command itself.
void set_device(const BenchWords& words, BenchOptions& options) {
  if (words.device == BenchWords().device) return;
  check_read("--device", {"dma"}, options);
  options.gpu = bench::gpu_device(words.device);
  if (!options.gpu) return;
  if (options.benchmarks.size() > 1)
    wrong(fmt::format("--device {}: measure dma by itself: a process that has used a GPU can't start ranks",
                      words.device));
  if (!words.placement.empty() || !words.ranks.empty() || words.nodes != BenchWords().nodes)
    wrong(fmt::format("--device {}: the command itself uses the GPU: leave out --place, -n and --nodes", words.device));
}

BenchOptions options_from(const BenchWords& words) {
  BenchOptions options;
  for (const std::string& name : words.names) select(name, options.benchmarks);
  for (const std::string& ranks : words.ranks) options.ranks.push_back(count("-n", ranks));
  for (const Benchmark* benchmark : options.benchmarks)
    for (const std::uint32_t ranks : options.ranks)
      if (ranks < benchmark->ranks_min)
        wrong(fmt::format("-n {}: {} needs at least {} ranks", ranks, benchmark->name, benchmark->ranks_min));
  set_device(words, options);
  set_nodes(words, options);
  set_choices(words, options);
  set_ddt(words, options);
  check_upa(words, options);
  check_pages(words, options);
  if (words.placement.empty()) return options;
  options.placement = parse_placement(words.placement);
  if (!options.placement) wrong(fmt::format("--place {}: must be pvas, process, thread or sim", words.placement));
  if (*options.placement != Placement::sim) return options;
  for (const Benchmark* benchmark : options.benchmarks)
    if (!benchmark->in_sim) wrong(fmt::format("--place sim: in its virtual time {} has no meaning", benchmark->name));
  return options;
}

TuningQuery tuning_query_of(const bench::JobPlan& plan) {
  JobOptions options;
  options.shape.placement = plan.placement;
  options.shape.size = plan.ranks;
  options.shape.nodes = plan.nodes;
  options.shape.network.transport = plan.transport;
  return tuning_query(options);
}

bool is_in_sim(const BenchOptions& options) {
  return options.placement == Placement::sim;
}

/// A job for each.
std::vector<std::uint32_t> ranks_of(const Benchmark& benchmark, const BenchOptions& options) {
  if (!options.ranks.empty()) return options.ranks;
  if (benchmark.run != bench::bench_pages) return benchmark.ranks;
  if (is_in_sim(options)) return {1, 2, 4, 8, 16, 32};
  return options.nodes > 1 ? std::vector<std::uint32_t>{options.nodes} : benchmark.ranks;
}

/// In `pages` each simulated rank is a node.
std::uint32_t nodes_of(const Benchmark& benchmark, const BenchOptions& options, std::uint32_t ranks) {
  return benchmark.run == bench::bench_pages && is_in_sim(options) ? ranks : options.nodes;
}

/// `tuned`: gets what `tune` has found.
bench::Report run_benchmark(const Benchmark& benchmark, const BenchOptions& options, const BenchWords& words,
                            std::vector<TuningRecord>& tuned) {
  const bool quick = words.quick;
  const auto ranks = ranks_of(benchmark, options);
  if (benchmark.run == bench::bench_spawn && options.nodes > 1)
    return bench::node_spawn_table(ranks, options.nodes, options.placement, quick);
  if (benchmark.run == bench::bench_spawn) return bench::spawn_table(ranks, options.placement, quick);
  if (benchmark.run == bench::bench_pagetables)
    return bench::pagetables_table(ranks, options.placement, options.choices, quick);
  if (options.gpu) return bench::measure_real_gpu(*options.gpu, quick);
  bench::Report report;
  for (const std::uint32_t size : ranks) {
    const bench::JobPlan plan{options.placement.value_or(Placement::pvas),
                              std::max(size, options.nodes),
                              nodes_of(benchmark, options, size),
                              options.transport,
                              quick,
                              options.choices,
                              words.network_file,
                              options.seed,
                              words.upa,
                              options.ddt,
                              words.pages,
                              words.mapped};
    const bench::Report found = bench::run_job(benchmark, plan);
    if (benchmark.run == bench::bench_tune && !quick)
      tuned.push_back(bench::fitted_record(found, tuning_query_of(plan), plan.ranks));
    report.merge(found);
  }
  return report;
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

int run_all(const BenchWords& words) {
  const BenchOptions options = options_from(words);
  std::ofstream json_file;
  if (!words.json_file.empty()) {
    json_file.open(words.json_file, std::ios::trunc);
    if (!json_file) throw_errno(errno, fmt::format("--json: can't write {}", words.json_file));
  }
  nlohmann::json result = description_of(look_at_machine(), words.quick);
  print_heading(result);
  for (const Benchmark* benchmark : options.benchmarks) {
    std::vector<TuningRecord> tuned;
    const bench::Report report = run_benchmark(*benchmark, options, words, tuned);
    report.print();
    for (TuningRecord& record : tuned) bench::keep_record(std::move(record));
    std::fflush(stdout);
    result["benchmarks"][benchmark->name] = report.to_json();
  }
  if (words.json_file.empty()) return 0;
  json_file << result.dump(2) << '\n' << std::flush;
  if (!json_file) throw_errno(errno, fmt::format("--json: can't write {}", words.json_file));
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, int& status) {
  auto words = std::make_shared<BenchWords>();
  CLI::App* command = app.add_subcommand("bench", "Measure the library on this machine, beside the machine's limits");
  std::string list;
  for (const Benchmark& benchmark : bench::benchmarks())
    list += fmt::format("  {:<10} {}\n", benchmark.name, benchmark.help);
  command->add_option("NAME", words->names, "Which: " + names_of_all() + " (but pagetables)")->required();
  command
      ->add_option("-n,--ranks", words->ranks,
                   "Ranks; several with commas (barrier, coll, pages, pagetables, spawn, tune: a job for each)")
      ->delimiter(',');
  command->add_option(
      "--place", words->placement,
      "pvas, process or thread (default: pvas; pagetables, spawn: pvas beside process); coll, pages, upa: also sim");
  command
      ->add_option("--nodes", words->nodes,
                   "put, get, am, atomics, spawn, coll, pages, upa, tune: nodes on this machine")
      ->capture_default_str();
  command->add_option("--transport", words->transport, "To other nodes: auto, tcp, verbs")->capture_default_str();
  command->add_option("--sizes", words->sizes, "coll, pagetables, pingpong, upa: sizes, with commas: 8,1K,1M")
      ->delimiter(',');
  command->add_option("--only", words->only, "coll, ddt: only these collectives or patterns, with commas")
      ->delimiter(',');
  command->add_option("--device", words->device, "dma: peach2 (its model), or a GPU: cuda, cuda:N")
      ->capture_default_str();
  command->add_flag("--quick", words->quick, "Few and short batches: only shows that it works");
  command->add_option("--json", words->json_file, "Also write the figures to this file");
  command->add_option("--network", words->network_file, "sim: file with the network's model");
  command->add_option("--seed", words->seed, "sim: repeats a schedule (default: 1)");
  bench::add_upa_options(*command, words->upa);
  bench::add_ddt_options(*command, words->ddt);
  bench::add_pages_options(*command, words->pages);
  bench::add_mapped_options(*command, words->mapped);
  // What the command says to its ranks may be 0, for what is left to the benchmark; what users say may not.
  for (const char* name : {"--depth", "--fan-out"}) command->get_option(name)->check(whole_number(1, 1 << 20));
  command->get_option("--iterations")->check(whole_number(1, 10'000'000));
  command->get_option("--arrival-seed")->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  command->get_option("--rounds")->check(whole_number(1, 10'000));
  // Else they would take the names of benchmarks behind them.
  for (const char* name : {"--ranks", "--sizes", "--only", "--ways", "--delays", "--methods", "--trees"})
    command->get_option(name)->allow_extra_args(false);
  command->footer(list);
  command->callback([words, &status] { status = run_all(*words); });
}

}  // namespace coracle::internals
