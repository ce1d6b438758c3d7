// The benchmarks: each runs on every rank of a job of its own, and rank 0 writes the report.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/coracle/bench/contest.hpp"
#include "apps/coracle/bench/report.hpp"
#include "runtime/rank.hpp"

namespace coracle::internals::bench {

/// What the user has chosen for benchmarks that leave a choice; empty: what they take by themselves.
struct Choices {
  std::vector<std::uint64_t> sizes;      ///< Bytes.
  std::vector<std::string> collectives;  ///< `coll`: only these.
  std::uint64_t rounds = 0;              ///< `pagetables`: so often all send to all.
};
struct UpaOptions;
struct DdtOptions;
struct PagesOptions;
struct MappedBenchOptions;

/// What a rank's part of a benchmark gets.
struct Bench {
  Rank& self;
  Plan plan;
  Choices choices;
  std::uint64_t started_ns;                    ///< CLOCK_MONOTONIC when the command began to start this job.
  Report report;                               ///< Rank 0 fills it.
  const UpaOptions* upa = nullptr;             ///< Of `upa` only.
  const DdtOptions* ddt = nullptr;             ///< Of `ddt` only.
  const PagesOptions* pages = nullptr;         ///< Of `pages` only.
  const MappedBenchOptions* mapped = nullptr;  ///< Of `mapped` only.

  bool keeps_time() const noexcept { return self.id() == 0; }
};

struct Benchmark {
  const char* name;
  const char* help;
  Task<> (*run)(Bench& bench);
  std::vector<std::uint32_t> ranks;  ///< A job for each number.
  std::uint32_t ranks_min;
  std::uint64_t segment_bytes;
  Task<> (*run_between_nodes)(Bench& bench) = nullptr;  ///< Null: it has no meaning there.
  bool in_sim = false;                                  ///< Can be run in virtual time.
};

/// All of them, in the order in which `all` runs them.
std::span<const Benchmark> benchmarks();
/// Of `coll`.
std::vector<std::string> collective_names();
/// Of `ddt`.
std::vector<std::string> ddt_pattern_names();
/// Null when there is none of that name.
const Benchmark* find_benchmark(const std::string& name);

Task<> bench_loop(Bench& bench);
Task<> bench_put(Bench& bench);
Task<> bench_get(Bench& bench);
Task<> bench_vis(Bench& bench);
Task<> bench_am(Bench& bench);
Task<> bench_pingpong(Bench& bench);
Task<> bench_matching(Bench& bench);
Task<> bench_atomics(Bench& bench);
Task<> bench_barrier(Bench& bench);
Task<> bench_coll(Bench& bench);
Task<> bench_pack(Bench& bench);
Task<> bench_ddt(Bench& bench);
Task<> bench_idle(Bench& bench);
Task<> bench_pagetables(Bench& bench);
Task<> bench_spawn(Bench& bench);
Task<> bench_upa(Bench& bench);
Task<> bench_tune(Bench& bench);
Task<> bench_pages(Bench& bench);
Task<> bench_mapped(Bench& bench);
Task<> bench_dma(Bench& bench);

Task<> bench_node_put(Bench& bench);
Task<> bench_node_get(Bench& bench);
Task<> bench_node_am(Bench& bench);
Task<> bench_node_atomics(Bench& bench);
Task<> bench_node_spawn(Bench& bench);
Task<> bench_node_tune(Bench& bench);

}  // namespace coracle::internals::bench
