// Counting allocations, so that benchmarks can print how many an operation makes.
#pragma once

#include <cstdint>

namespace coracle::internals::bench {

/// Calls of operator new by the calling thread so far. Always 0 under sanitizers, which bring their own operator new.
std::uint64_t allocation_count() noexcept;

}  // namespace coracle::internals::bench
