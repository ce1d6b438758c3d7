// The counting operator new of the test programs.
#include "tests/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/core/frame_pool.hpp"

namespace coracle::internals::test {
namespace {

std::atomic<std::uint64_t> count{0};  // relaxed everywhere: a plain statistic
std::atomic<std::size_t> failing_from{~std::size_t{0}};

}  // namespace

std::uint64_t allocation_count() noexcept {
  return count.load(std::memory_order_relaxed);
}
bool allocations_are_counted() noexcept {
  return CORACLE_PLAIN_FRAMES == 0;
}

AllocationsFail::AllocationsFail(std::size_t bytes) noexcept {
  failing_from = bytes;
}
AllocationsFail::~AllocationsFail() {
  failing_from = ~std::size_t{0};
}

#if !CORACLE_PLAIN_FRAMES
static void* counted(std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (bytes >= failing_from.load(std::memory_order_relaxed)) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
#endif

}  // namespace coracle::internals::test

#if !CORACLE_PLAIN_FRAMES
void* operator new(std::size_t bytes) {
  return coracle::internals::test::counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
