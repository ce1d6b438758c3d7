// Programs' own use of GPUs: their memory, and kernels loaded from code that nvcc has compiled. See docs/dma.md.
#pragma once

#include "transports/cuda/gpu.hpp"
#include "transports/cuda/kernels.hpp"
#include "transports/cuda/support.hpp"

namespace coracle {

using internals::DeviceSlab;
using internals::Gpu;
using internals::GpuOptions;

namespace cuda {

using internals::cuda::CudaApi;
using internals::cuda::Kernel;
using internals::cuda::Kernels;
using internals::cuda::Launch;
using internals::cuda::probe;
using internals::cuda::Support;
using internals::tca::TableId;

}  // namespace cuda

}  // namespace coracle
