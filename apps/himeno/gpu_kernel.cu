// Himeno's kernels: which thread makes which points, and how the sums of a block are joined. All else: gpu_kernel.hpp.
#include "apps/himeno/gpu_kernel.hpp"

namespace coracle::himeno {
namespace {

constexpr unsigned kLanes = 32;

__device__ GpuThread this_thread() {
  return {{std::size_t{blockIdx.z} * blockDim.z + threadIdx.z, std::size_t{blockIdx.y} * blockDim.y + threadIdx.y,
           std::size_t{blockIdx.x} * blockDim.x + threadIdx.x}};
}

/// Integers, so that the order does not matter. All threads of the block call it.
__device__ void add_up(PartSum mine, std::uint64_t* sum) {
  __shared__ PartSum of_warps[kGpuThreads / kLanes];
  for (unsigned lanes = kLanes / 2; lanes > 0; lanes /= 2) {
    mine.top += __shfl_xor_sync(~0U, mine.top, lanes);
    mine.rest += __shfl_xor_sync(~0U, mine.rest, lanes);
  }
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  if (thread % kLanes == 0) of_warps[thread / kLanes] = mine;
  __syncthreads();
  if (thread != 0) return;
  for (unsigned warp = 1; warp < kGpuThreads / kLanes; ++warp) {
    mine.top += of_warps[warp].top;
    mine.rest += of_warps[warp].rest;
  }
  std::uint64_t words[kSumWords];
  to_words(mine, words);
  for (std::size_t n = 0; n < kSumWords; ++n) atomicAdd(reinterpret_cast<unsigned long long*>(sum + n), words[n]);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kGpuThreads) himeno_relax(const __grid_constant__ Relaxation what) {
  add_up(relax_column(what, this_thread()), what.sum);
}

extern "C" __global__ void __launch_bounds__(kGpuThreads) himeno_stream(const __grid_constant__ Relaxation what) {
  stream_column(what, this_thread());
}

}  // namespace coracle::himeno
