// What `coracle bench dma --device cuda` measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/bench/measure/contest.hpp"

namespace coracle::internals::bench {

/// What is measured on a GPU. All sizes in bytes.
struct GpuPlan {
  int device = 0;
  Plan plan;
  std::uint64_t large_bytes = 0;             ///< Of the one copy that gives the limit.
  std::vector<std::uint64_t> sizes;          ///< Of copies over several streams; at most large_bytes.
  std::vector<unsigned> channels;            ///< Streams that a copy may take; the first is 1.
  std::vector<std::uint64_t> latency_sizes;  ///< Of copies by themselves, over one stream.
  std::vector<std::uint64_t> widths;         ///< Of rows that lie at twice that distance.
  std::uint64_t strided_bytes = 0;           ///< Of all rows together.
  std::vector<std::size_t> chain_lengths;    ///< Copies in a table.
  std::vector<std::uint64_t> chain_blocks;   ///< Bytes of each of them.
};

GpuPlan gpu_plan(int device, bool quick);

}  // namespace coracle::internals::bench
