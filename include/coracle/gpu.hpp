// Programs' own use of GPUs: their memory, and kernels loaded from code that nvcc has compiled. See docs/dma.md.
#pragma once

#include "transports/cuda/copy_engine.hpp"
#include "transports/cuda/failure.hpp"
#include "transports/cuda/gpu.hpp"

namespace coracle {

using internals::DeviceSlab;
using internals::Gpu;
using internals::GpuOptions;
namespace cuda = internals::cuda;  // Kernels, Kernel, Launch, TableId, probe, Support

}  // namespace coracle
