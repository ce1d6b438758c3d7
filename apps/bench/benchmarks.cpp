// The list of benchmarks.
#include "apps/bench/benchmarks.hpp"

namespace coracle::internals::bench {

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
