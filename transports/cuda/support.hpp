// Whether GPUs' copy engines can be used here, and how or why not; for `coracle info` and for who chooses a device.
#pragma once

#include <string>

#include "transports/cuda/api.hpp"

namespace coracle::internals::cuda {

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
