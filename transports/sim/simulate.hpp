// Runs a job of placement `sim`.
#pragma once

#include "runtime/launch/boot.hpp"

namespace coracle::internals {

/// Runs all ranks in this thread, on the network that the job's shape names and with its seed. Returns 0 when all have
/// finished; ends the process with exit status 1 when one fails or none can go on, and says which seed repeats that.
/// Throws Error for a bad network model. See Wiring::simulate.
int simulate(const JobRegion& region, const App& app, const Wiring& wiring);

}  // namespace coracle::internals
