// Benchmark: something that `coracle bench` measures. Each is a source that defines it, with its options and what its
// ranks do, and a line in this file and in benchmark.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/bench/measure/contest.hpp"
#include "apps/bench/measure/report.hpp"
#include "apps/common/command_line.hpp"
#include "runtime/job/job.hpp"
#include "runtime/rank/rank.hpp"

namespace coracle::internals::bench {

class Benchmark;

/// Options that several benchmarks read. Empty, or 0: each takes what it takes by itself.
struct Choices {
  std::vector<std::uint64_t> sizes;  ///< Bytes.
  std::vector<std::string> only;     ///< Of the parts of all the benchmarks that have some.
  std::int64_t rounds = 0;
  std::string path;  ///< Of a folder for files.

  /// Those of `parts` that are chosen; all, where none of them is.
  std::vector<std::string> chosen_of(const std::vector<std::string>& parts) const;
};

/// One job of a benchmark.
struct JobPlan {
  Placement placement = Placement::pvas;
  std::uint32_t ranks = 2;
  std::uint32_t nodes = 1;
  MessageOptions messages = {};
  nlohmann::json told = nullptr;  ///< To its ranks, beside the user's own words.
};

/// What the user asks for, of whatever benchmark.
struct Request {
  std::vector<Benchmark*> benchmarks;
  std::vector<std::uint32_t> ranks;  ///< A job for each; empty: as the benchmark has it.
  std::optional<Placement> placement;
  std::uint32_t nodes = 1;
  RemoteTransport transport = RemoteTransport::automatic;
  bool quick = false;
  std::string json_file;     ///< Empty: none.
  std::string network_file;  ///< `sim`: of the model; empty: the built-in one.
  std::uint64_t seed = 1;    ///< `sim`: of the schedule.
  Choices choices;

  bool in_sim() const noexcept { return placement == Placement::sim; }
  /// The placement asked for, or all in which processes are started.
  std::vector<Placement> placements_or_both() const;
  JobPlan job_of(std::uint32_t size) const;
};

/// Starts jobs, for the command.
class Jobs {
 public:
  virtual ~Jobs() = default;
  virtual const Request& request() const noexcept = 0;
  /// What the job's rank 0 reports. Throws Error when the job fails, after its ranks have said why.
  virtual Report run(const Benchmark& benchmark, const JobPlan& plan) = 0;
};

/// What a rank's part of a benchmark gets.
struct Bench {
  Rank& self;
  Plan plan;
  const Choices& choices;
  double started_ns = 0;          ///< now_ns() when the command began to start this job.
  nlohmann::json told = nullptr;  ///< As in the job's plan.
  Report report = {};             ///< Rank 0 fills it.

  bool keeps_time() const noexcept { return self.id() == 0; }
};

/// Ways of doing something, beside what it must take at least, all measured in alternation: rows of a table, one for
/// each way and limit. Collective: every rank adds the same in the same order.
class Comparison {
 public:
  /// `bytes`: moved by one operation. Figures and limits are multiplied by `factor`.
  Comparison(Bench& bench, std::string title, std::uint64_t bytes = 0, double factor = 1)
      : bench_(bench), title_(std::move(title)), bytes_(bytes), factor_(factor), contest_(bench.self, bench.plan) {}

  /// What batches refer to must live until run() has returned.
  void add(std::string name, Contest::Batch batch) {
    ways_.emplace_back(std::move(name), contest_.add(std::move(batch)));
  }
  void add_limit(std::string name, Contest::PlainBatch batch) {
    limits_.emplace_back(std::move(name), contest_.add_plain(std::move(batch)));
  }
  Task<> run();

 private:
  using Named = std::pair<std::string, std::size_t>;

  Bench& bench_;
  std::string title_;
  std::uint64_t bytes_;
  double factor_;
  Contest contest_;
  std::vector<Named> ways_;
  std::vector<Named> limits_;
};

/// The command and each rank have one of their own, which has read the same options.
class Benchmark {
 public:
  struct Facts {
    const char* name;
    const char* help;
    std::vector<std::uint32_t> ranks = {2};  ///< A job for each number, unless the user has chosen others.
    std::uint32_t ranks_min = 1;
    std::uint64_t segment_bytes = 64 << 20;
    bool between_nodes = false;
    bool in_sim = false;  ///< Can be run in virtual time.
    bool in_all = true;   ///< Is one of those that `all` names.
    bool pinned = true;   ///< Ranks are pinned to cores also where the launcher does not.
    /// Options that only some benchmarks read: "--rounds", "--ways, --bytes-max".
    std::vector<std::string> reads = {};
  };

  virtual ~Benchmark() = default;
  virtual Facts facts() const = 0;

  /// Adds its own options, whose values it keeps. Options that others read as well have their places in `choices`.
  virtual void add_options(OptionGroup& command, Choices& choices);
  /// What --only can choose from.
  virtual std::vector<std::string> parts() const { return {}; }
  /// Called when all options are read, if it is one of the benchmarks asked for. Throws WrongUsage for words
  /// that mean nothing.
  virtual void check(const Request& request);

  virtual std::vector<std::uint32_t> ranks(const Request& request) const;
  virtual std::uint64_t segment_bytes(const Request&) const { return facts().segment_bytes; }
  /// All of it: a job for each number of ranks, unless it is overridden.
  virtual Report measure(Jobs& jobs);
  /// Called when the report of measure() has been printed.
  virtual void after_print() {}

  /// On every rank of a job.
  virtual Task<> run(Bench& bench) = 0;
  /// In a process that a rank has started by words_of_assistant(); gives its exit status.
  virtual int assist(std::span<const char* const> words);
};

/// Has no options of its own and is what its functions do, between nodes another one; null: it has no meaning there.
std::unique_ptr<Benchmark> benchmark_of(Benchmark::Facts facts, Task<> (*run)(Bench& bench),
                                        Task<> (*run_between_nodes)(Bench& bench) = nullptr);

/// First word of a process that assists a benchmark: its name follows, and words of its own.
inline constexpr const char* kAssist = "--assist";
/// Program and first words of such a process.
std::vector<std::string> words_of_assistant(const Benchmark& benchmark);

using Benchmarks = std::vector<std::unique_ptr<Benchmark>>;

/// All of them, in the order in which `all` runs them.
Benchmarks all_benchmarks();
/// Null when there is none of that name.
Benchmark* find_benchmark(const Benchmarks& benchmarks, std::string_view name);

// Each is defined where its source is.
std::unique_ptr<Benchmark> loop_benchmark();
std::unique_ptr<Benchmark> put_benchmark();
std::unique_ptr<Benchmark> get_benchmark();
std::unique_ptr<Benchmark> vis_benchmark();
std::unique_ptr<Benchmark> am_benchmark();
std::unique_ptr<Benchmark> pingpong_benchmark();
std::unique_ptr<Benchmark> matching_benchmark();
std::unique_ptr<Benchmark> atomics_benchmark();
std::unique_ptr<Benchmark> barrier_benchmark();
std::unique_ptr<Benchmark> coll_benchmark();
std::unique_ptr<Benchmark> pack_benchmark();
std::unique_ptr<Benchmark> ddt_benchmark();
std::unique_ptr<Benchmark> idle_benchmark();
std::unique_ptr<Benchmark> spawn_benchmark();
std::unique_ptr<Benchmark> pagetables_benchmark();
std::unique_ptr<Benchmark> arrival_benchmark();
std::unique_ptr<Benchmark> pages_benchmark();
std::unique_ptr<Benchmark> mapped_benchmark();
std::unique_ptr<Benchmark> dma_benchmark();
std::unique_ptr<Benchmark> tune_benchmark();

/// Parses the user's words: in the command, and by the same words in each rank; `argv[0]` is skipped. The benchmarks
/// keep what they read of their own options. Gives the text of the help where that is asked for. Throws WrongUsage.
std::variant<Request, std::string> parse(const Benchmarks& benchmarks, int argc, const char* const* argv);

}  // namespace coracle::internals::bench
