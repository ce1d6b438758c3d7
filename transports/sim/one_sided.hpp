// Puts, gets and atomics on their way through the simulated network.
#pragma once

#include "runtime/operation.hpp"

namespace coracle::internals::sim {

class SimTransport;

/// Starts an operation that has been found good. It ends by SimTransport::complete().
void start_one_sided(SimTransport& from, Operation& operation) noexcept;

}  // namespace coracle::internals::sim
