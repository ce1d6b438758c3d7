// Counting allocations, for tests that assert that a path makes none.
#pragma once

#include <cstdint>

namespace coracle::test {

/// Calls of operator new in this program so far, by all threads. Not counted under sanitizers, which bring their own
/// operator new, and under which every coroutine's frame is an allocation.
std::uint64_t allocation_count() noexcept;
bool allocations_are_counted() noexcept;

}  // namespace coracle::test
