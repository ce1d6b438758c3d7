#include "transports/cuda/support.hpp"

#include <fmt/format.h>

#include "transports/cuda/failure.hpp"

namespace coracle::internals::cuda {

Support probe(CudaApi& api) {
  Support support;
  int driver = 0;
  Status status = api.driver_version(driver);
  if (status == kSuccess) status = api.device_count(support.devices);
  if (status == kSuccess && support.devices == 0) status = kNoDevice;
  if (status != kSuccess) {
    support.devices = 0;
    support.detail = driver == 0 ? "no NVIDIA driver: " + describe(api, status) : describe(api, status);
    support.remedy = remedy_of(driver == 0 ? Status{kInsufficientDriver} : status);
    return support;
  }
  support.detail = fmt::format("driver for CUDA {}.{}", driver / 1000, driver % 1000 / 10);
  for (int device = 0; device < support.devices; ++device) {
    DeviceInfo info;
    status = api.device_info(device, info);
    support.detail += status == kSuccess ? fmt::format("; {}: {}, {:.0f} GiB, compute {}.{}, {} copy engines", device,
                                                       info.name, static_cast<double>(info.memory_bytes) / (1 << 30),
                                                       info.compute_major, info.compute_minor, info.copy_engines)
                                         : fmt::format("; {}: {}", device, describe(api, status));
    support.available = support.available || status == kSuccess;
  }
  if (!support.available) support.remedy = remedy_of(status);
  return support;
}

}  // namespace coracle::internals::cuda
