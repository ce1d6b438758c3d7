// Puts, gets and atomics on their way through the simulated network.
#pragma once

#include "runtime/rank/operation.hpp"

namespace coracle::internals::sim {

class SimEnd;

/// Starts an operation that has been found good. It ends by SimEnd::complete().
void start_one_sided(SimEnd& from, Operation& operation) noexcept;

}  // namespace coracle::internals::sim
