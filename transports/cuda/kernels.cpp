#include "transports/cuda/kernels.hpp"

#include <fmt/format.h>

#include "transports/cuda/failure.hpp"

namespace coracle::cuda {
namespace {

CopyOptions engine_options(const CudaOptions& device) {
  CopyOptions options;
  options.device = device;
  options.device.channels = 1;
  options.tries_max = 1;  // half of the work may be done, and a second time may not give the same
  return options;
}

}  // namespace

Kernels::Kernels(EventLoop& loop, CudaApi& api, const void* code, CudaOptions options)
    : api_(api), engine_(std::make_unique<CopyEngine>(loop, api, engine_options(options))) {
  const Status status = api.load_module(module_, code);
  if (status != kSuccess)
    throw_status(api, status,
                 fmt::format("cuda: loading kernels for device {} ({}, compute {}.{})", options.device, info().name,
                             info().compute_major, info().compute_minor));
}

Kernels::~Kernels() {
  const bool hangs = engine_->device().hangs();
  engine_.reset();
  // Code that may still run stays until the process ends. After an error of the device this fails; the code went with
  // it.
  if (!hangs) (void)api_.unload_module(module_);
}

Kernel Kernels::find(const char* name) {
  Kernel kernel = nullptr;
  const Status status = api_.find_kernel(kernel, module_, name);
  if (status != kSuccess) throw_status(api_, status, fmt::format("cuda: looking for kernel {}", name));
  return kernel;
}

}  // namespace coracle::cuda
