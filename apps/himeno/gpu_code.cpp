// The kernels that nvcc has compiled (see meson.build), as numbers in gpu_code_bytes.inc.
#include "apps/himeno/gpu_code.hpp"

#include <cstdint>

namespace coracle::himeno {
namespace {

alignas(16) constexpr std::uint8_t kBytes[] = {
#include "gpu_code_bytes.inc"
};

}  // namespace

const void* gpu_code() noexcept {
  return kBytes;
}

}  // namespace coracle::himeno
