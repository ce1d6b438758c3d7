// own_devices: the life of the process that owns the GPUs of a node whose ranks share an address space.
#pragma once

#include "runtime/job/job.hpp"

namespace coracle::internals::cuda {

class CudaApi;

/// What the process does that the launcher has started for it (Wiring::own_devices), on CUDA. Returns the exit status;
/// what goes wrong is printed.
int own_devices(const JobRegion& region);
/// The same on what stands in for CUDA, for programs that ask in main() whether they have been started for it
/// (DeviceOwnerRecord::kVariable).
int own_devices_on(CudaApi& api);

}  // namespace coracle::internals::cuda
