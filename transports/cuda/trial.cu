// Whether nvcc works here (meson.build).
#include <cstdint>

extern "C" __global__ void trial(std::uint64_t* numbers) {
  numbers[threadIdx.x] = threadIdx.x;
}
