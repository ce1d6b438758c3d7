#include "transports/cuda/failure.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "runtime/core/error.hpp"

namespace coracle::internals::cuda {
namespace {

std::error_code code_of(Status status) noexcept {
  switch (status) {
    case kOutOfMemory:
      return {ENOMEM, std::generic_category()};
    case kInsufficientDriver:
    case kNoDevice:
    case kInvalidDevice:
    case kNotSupported:
    case kPeerUnsupported:
    case kNoBinary:
    case kNewerCode:
      return Errc::unsupported;
    case kOwnerGone:
      return Errc::device_failed;
    default:
      return {EIO, std::generic_category()};
  }
}

}  // namespace

std::string describe(const MemoryApi& api, Status status) {
  return fmt::format("{} ({})", api.error_name(status), api.error_text(status));
}

const char* remedy_of(Status status) noexcept {
  switch (status) {
    case kOutOfMemory:
      return "ask for less, or end what else uses the memory (nvidia-smi lists it; ulimit -l for pinned)";
    case kInitializationError:
      return "only the process that has begun to use the driver can: not its forks, nor others in its address space";
    case kInsufficientDriver:
    case kDriverMismatch:
      return "install NVIDIA's driver of this toolkit's version or newer (nvidia-smi shows it)";
    case kNoDevice:
      return "look whether nvidia-smi lists a GPU, and what CUDA_VISIBLE_DEVICES says";
    case kInvalidDevice:
      return "choose a device that `coracle info` lists";
    case kDevicesUnavailable:
      return "end the other process on it, or `nvidia-smi -c DEFAULT`";
    case kNoBinary:
      return "the GPU is older than those that the kernels are compiled for (compute 7.5): choose another";
    case kNewerCode:
      return "install a driver for the CUDA that the kernels were compiled by, or build with an older toolkit";
    case kOperatingSystem:
      return "look whether /dev/nvidia* and /dev/nvidia-uvm may be opened here";
    case kSystemNotReady:
      return "start the fabric manager (nvidia-fabricmanager) of this machine";
    case kIllegalAddress:
    case kLaunchFailure:
      return "the device refuses this process from now on: end the job; run under compute-sanitizer";
    case kNotPermitted:
      return "allow it in the container (its seccomp profile and capabilities)";
    default:
      return "";
  }
}

bool ends_context(Status status) noexcept {
  switch (status) {
    case 214:  // cudaErrorECCUncorrectable
    case 220:  // cudaErrorNvlinkUncorrectable
    case kIllegalAddress:
    case 702:  // cudaErrorLaunchTimeout
    case 709:  // cudaErrorContextIsDestroyed
    case 710:  // cudaErrorAssert
    case 714:  // cudaErrorHardwareStackError
    case 715:  // cudaErrorIllegalInstruction
    case 716:  // cudaErrorMisalignedAddress
    case 717:  // cudaErrorInvalidAddressSpace
    case 718:  // cudaErrorInvalidPc
    case kLaunchFailure:
      return true;
    default:
      return false;
  }
}

void throw_status(const MemoryApi& api, Status status, const std::string& what) {
  const char* remedy = remedy_of(status);
  throw Error(code_of(status),
              fmt::format("{}: {}{}{}", what, describe(api, status), *remedy == '\0' ? "" : "; ", remedy));
}

void require(const MemoryApi& api, Status status, const char* what) {
  if (status != kSuccess) throw_status(api, status, what);
}

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
