// The benchmark from its checks to its report.
#pragma once

#include <coracle/coracle.hpp>

#include "apps/himeno/gpu_device.hpp"
#include "apps/himeno/options.hpp"

namespace coracle::himeno {

/// Every rank calls it; rank 0 prints. `gpu` counts where the options ask for one. Throws Error: what does not go
/// together, what is not there, and, with `verify`, what is not as in a serial run.
Task<> run_all(Rank& self, const Options& options, GpuChoice gpu);

}  // namespace coracle::himeno
