// `coracle bench dma --device cuda`: a GPU's copy engines through the DMA engine, beside what plain calls of CUDA reach
// in the same run. The measuring part takes any CudaApi, so that it can be tried on a stand-in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/coracle/bench/contest.hpp"
#include "apps/coracle/bench/report.hpp"
#include "transports/cuda/api.hpp"

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

/// The GPU that `--device` names: "cuda" is 0, "cuda:2" 2; none for "peach2", which is the model. Throws
/// CLI::ValidationError for other words.
std::optional<int> gpu_device(const std::string& word);

/// All tables. Each row's bytes are verified once. Throws Error: what the device or the driver refuses, and bytes that
/// are not where they belong.
Report measure_gpu(cuda::CudaApi& api, const GpuPlan& plan);

/// The same by CUDA itself. Throws Error (unsupported) where no GPU can be used: why not, and what to do.
Report measure_real_gpu(int device, bool quick);

}  // namespace coracle::internals::bench
