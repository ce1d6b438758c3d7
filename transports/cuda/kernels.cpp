#include "transports/cuda/kernels.hpp"

namespace coracle::internals::cuda {
namespace {

CopyOptions engine_options(const CudaOptions& device) {
  CopyOptions options;
  options.device = device;
  options.device.channels = 1;
  options.tries_max = 1;  // half of the work may be done, and a second time may not give the same
  return options;
}

}  // namespace

Kernels::Kernels(EventLoop& loop, CudaApi& api, const void* code, const CudaOptions& options)
    : Kernels(
          loop, [&api](CudaHost& host, const CudaOptions& own) { return std::make_unique<CudaDevice>(api, host, own); },
          code, options) {}

Kernels::Kernels(EventLoop& loop, const Maker& make, const void* code, const CudaOptions& options)
    : engine_(
          loop, [&](CudaHost& host) { return make(host, engine_options(options).device); }, engine_options(options)),
      module_(engine_.streams().load_module(code)) {}

}  // namespace coracle::internals::cuda
