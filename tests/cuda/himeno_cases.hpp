// Himeno's kernels for GPUs beside those of the processor, on whatever API they are given: the stand-in
// (himeno_kernels_test.cpp) or a GPU (gpu_test.cpp). They check by doctest.
#pragma once

#include "transports/cuda/api.hpp"

namespace coracle::internals::test {

/// Boxes of all shapes, with random values in all arrays: the same bits, the same sums, and nothing else touched. (The
/// benchmark's own coefficients are 0 and 1, so that it would not tell of products that are not rounded.)
void himeno_boxes(cuda::CudaApi& api, const void* code);
/// Passing through the memory does so in the box, and nowhere else.
void himeno_stream(cuda::CudaApi& api, const void* code);

}  // namespace coracle::internals::test
