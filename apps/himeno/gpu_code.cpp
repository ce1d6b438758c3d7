// The kernels that nvcc has compiled (see meson.build), as numbers in gpu_code_bytes.inc; in builds without nvcc, none.
#include "apps/himeno/gpu_device.hpp"

#include <cstdint>

namespace coracle::himeno {

const void* gpu_code() noexcept {
#if defined(HIMENO_GPU_CODE)
  alignas(16) static constexpr std::uint8_t kBytes[] = {
#include "gpu_code_bytes.inc"
  };
  return kBytes;
#else
  return nullptr;
#endif
}

}  // namespace coracle::himeno
