// `coracle bench dma --device cuda`: a GPU's copy engines through the DMA engine, beside what plain calls of CUDA reach
// in the same run. The measuring part takes any CudaApi, so that it can be tried on a stand-in.
#pragma once

#include <optional>
#include <string>

#include "apps/bench/dma/gpu_ground.hpp"
#include "apps/bench/measure/report.hpp"
#include "transports/cuda/api.hpp"

namespace coracle::internals::bench {

/// The GPU that `--device` names: "cuda" is 0, "cuda:2" 2; none for "peach2", which is the model. Throws
/// CLI::ValidationError for other words.
std::optional<int> gpu_device(const std::string& word);

/// All tables. Each row's bytes are verified once. Throws Error: what the device or the driver refuses, and bytes that
/// are not where they belong.
Report measure_gpu(cuda::CudaApi& api, const GpuPlan& plan);

/// The same by CUDA itself. Throws Error (unsupported) where no GPU can be used: why not, and what to do.
Report measure_real_gpu(int device, bool quick);

}  // namespace coracle::internals::bench
