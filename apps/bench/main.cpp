// `coracle bench`: what the library costs on this machine, each figure beside the limit measured in the same run.
#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string_view>

#include "apps/bench/benchmarks.hpp"
#include "apps/bench/job.hpp"
#include "apps/bench/options.hpp"
#include "apps/common/strict_options.hpp"
#include "apps/coracle/machine.hpp"
#include "runtime/core/error.hpp"
#include "runtime/launch/say.hpp"

namespace coracle::internals::bench {
namespace {

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

int wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  constexpr int kUsage = 2;
  say("{} (`{} --help` explains)", explain(app, error), app.get_name());
  return kUsage;
}

/// `part`: null in the command itself, else what tells a rank its part. In both `argv[0]` is skipped.
int start(const Benchmarks& benchmarks, const char* part, int argc, char** argv) {
  CLI::App app("Measure the library on this machine, beside the machine's limits", "coracle bench");
  try {
    const Request request = parse(app, benchmarks, argc, argv);
    if (part != nullptr) return be_rank(benchmarks, request, part);
    CommandJobs jobs(request, {argv + 1, argv + argc});
    measure_all(request, jobs);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return wrong_usage(app, error);
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
