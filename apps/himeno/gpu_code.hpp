// The kernels for GPUs as machine code, where the build had a compiler for it.
#pragma once

namespace coracle::himeno {

/// As CudaApi::load_module wants it; null: this program was built without.
const void* gpu_code() noexcept;

}  // namespace coracle::himeno
