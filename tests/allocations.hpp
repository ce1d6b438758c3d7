// Counting allocations, for tests that assert that a path makes none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::internals::test {

/// Calls of operator new in this program so far, by all threads. Not counted under sanitizers, which bring their own
/// operator new, and under which every coroutine's frame is an allocation.
std::uint64_t allocation_count() noexcept;
bool allocations_are_counted() noexcept;

/// While it lives, operator new of this many bytes or more throws std::bad_alloc, in all threads. Only where
/// allocations are counted.
class AllocationsFail {
 public:
  explicit AllocationsFail(std::size_t bytes) noexcept;
  ~AllocationsFail();
  AllocationsFail(const AllocationsFail&) = delete;
  AllocationsFail& operator=(const AllocationsFail&) = delete;
};

}  // namespace coracle::internals::test
