// What stands for the kernels in builds without nvcc.
#include "apps/himeno/gpu_code.hpp"

namespace coracle::himeno {

const void* gpu_code() noexcept {
  return nullptr;
}

}  // namespace coracle::himeno
