// The counting operator new of the `coracle` command.
#include "apps/bench/measure/contest.hpp"

#include <cstdlib>
#include <new>

#include "runtime/core/frame_pool.hpp"

namespace coracle::internals::bench {
namespace {

constinit thread_local std::uint64_t allocations_made = 0;  // by thread: ranks may be threads

}  // namespace

std::uint64_t allocation_count() noexcept {
  return allocations_made;
}

#if !CORACLE_PLAIN_FRAMES
static void* counted(std::size_t bytes) {
  ++allocations_made;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
#endif

}  // namespace coracle::internals::bench

#if !CORACLE_PLAIN_FRAMES
void* operator new(std::size_t bytes) {
  return coracle::internals::bench::counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
