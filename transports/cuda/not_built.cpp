// What stands in for CUDA in builds without its toolkit.
#include "runtime/core/error.hpp"
#include "transports/cuda/api.hpp"
#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {

Support probe() {
  return {
      false, 0, "Coracle was built without CUDA",
      "install the CUDA toolkit (its headers and libcudart_static.a, 12.0 or newer; CUDA_HOME names its folder), then "
      "configure with `meson setup -Dcuda=enabled` and build again"};
}

std::unique_ptr<CudaApi> real_api() {
  const Support support = probe();
  throw Error(Errc::unsupported, "cuda: " + support.detail + "; " + support.remedy);
}

}  // namespace coracle::internals::cuda
