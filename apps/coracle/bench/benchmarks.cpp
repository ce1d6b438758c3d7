// The list of benchmarks.
#include "apps/coracle/bench/benchmarks.hpp"

namespace coracle::internals::bench {

std::span<const Benchmark> benchmarks() {
  constexpr std::uint64_t kMiB = 1 << 20;
  static const Benchmark all[] = {
      {"loop", "tasks, operations and the event loop", bench_loop, {1}, 1, 64 * kMiB},
      {"put", "puts from 8 B to 64 MiB beside memcpy", bench_put, {2}, 2, 256 * kMiB, bench_node_put},
      {"get", "gets from 8 B to 64 MiB beside memcpy", bench_get, {2}, 2, 256 * kMiB, bench_node_get},
      {"vis", "strided puts and gets beside contiguous ones", bench_vis, {2}, 2, 64 * kMiB, bench_vis},
      {"am", "active messages beside the hand-over of a cache line", bench_am, {2}, 2, 64 * kMiB, bench_node_am},
      {"pingpong", "tagged messages from 8 B to 16 MiB beside a flag and one copy", bench_pingpong, {2}, 2, 128 * kMiB},
      {"matching", "tagged messages among thousands that wait", bench_matching, {2}, 2, 64 * kMiB},
      {"atomics", "remote atomics beside the processor's own", bench_atomics, {2}, 2, 64 * kMiB, bench_node_atomics},
      {"barrier", "barriers beside one counter", bench_barrier, {2, 4, 8, 16}, 1, 64 * kMiB},
      {"coll", "every collective beside flags and copies", bench_coll, {2, 4, 8, 16}, 1, 1024 * kMiB, bench_coll, true},
      {"pack", "DDTBench's patterns by layouts beside loops by hand", bench_pack, {1}, 1, 64 * kMiB},
      {"ddt", "DDTBench's patterns between two ranks, by every way", bench_ddt, {2}, 2, 64 * kMiB},
      {"idle", "CPU time of ranks that wait", bench_idle, {16}, 2, 64 * kMiB},
      {"spawn",
       "start, page tables and memory of ranks, pvas beside process",
       bench_spawn,
       {16, 64, 240, 1000},
       1,
       16 * kMiB,
       bench_node_spawn},
      {"pagetables",
       "page tables and memory of all-to-all messages, pvas beside process",
       bench_pagetables,
       {60, 120, 180, 240},
       2,
       16 * kMiB},
      {"upa", "broadcasts to ranks that come at different times", bench_upa, {4}, 1, 0, bench_upa, true},
      {"pages",
       "memory on SSD: cached pages, pages from the file, from other caches",
       bench_pages,
       {1, 2, 4},
       1,
       0,
       bench_pages,
       true},
      {"mapped", "memory on SSD by gets and by ordinary loads, beside mmap in as much memory", bench_mapped, {1}, 1, 0},
      {"dma", "DMA channels: PEACH2's model, in virtual time; or a GPU (--device)", bench_dma, {1}, 1, 0},
      {"tune",
       "what the choice of collectives must know; kept in a file",
       bench_tune,
       {2, 8},
       2,
       64 * kMiB,
       bench_node_tune},
  };
  return all;
}

const Benchmark* find_benchmark(const std::string& name) {
  for (const Benchmark& benchmark : benchmarks())
    if (benchmark.name == name) return &benchmark;
  return nullptr;
}

}  // namespace coracle::internals::bench
