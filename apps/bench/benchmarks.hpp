// The list of benchmarks.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "apps/bench/benchmark.hpp"

namespace coracle::internals::bench {

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

}  // namespace coracle::internals::bench
