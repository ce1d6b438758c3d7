// What CUDA's errors mean, and what to do about them, in words; and whether GPUs can be used here at all.
#pragma once

#include <string>

#include "transports/cuda/api.hpp"

namespace coracle::internals::cuda {

/// "cudaErrorNoDevice (no CUDA-capable device is detected)".
std::string describe(const MemoryApi& api, Status status);
/// What the user can do; "" where only the program can.
const char* remedy_of(Status status) noexcept;
/// Whether after this error the device refuses all further work of this process.
bool ends_context(Status status) noexcept;

/// Throws Error "`what`: `status`; remedy": not enough memory as ENOMEM, what is missing as unsupported, others as EIO.
[[noreturn]] void throw_status(const MemoryApi& api, Status status, const std::string& what);
/// Throws unless it is kSuccess.
void require(const MemoryApi& api, Status status, const char* what);

/// Whether GPUs' copy engines can be used here, and how or why not; for `coracle info` and for who chooses a device.
struct Support {
  bool available = false;
  int devices = 0;
  std::string detail;  ///< The devices; or the reason why not.
  std::string remedy;  ///< What to do about it; empty when available.
};

/// Of the API given.
Support probe(CudaApi& api);
/// Of CUDA itself, if it was built in. Loads the driver: some milliseconds to a second.
Support probe();

}  // namespace coracle::internals::cuda
