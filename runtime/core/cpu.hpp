// What a processor does about its caches if it is told to, and C++ has no word for: cpu_pause, prefetch_for_writing and
// streaming_copy.
#pragma once

#include <cstddef>
#include <span>

namespace coracle::internals {

enum class Copying {
  by_caches,    ///< As a memcpy.
  past_caches,  ///< See streaming_copy().
};

/// A copy whose target goes past the caches to memory: for more data at a time than the caches hold, where reading each
/// line of the target first, as ordinary stores do, would only cost bandwidth. As a memcpy of `source` to `target`, by
/// non-temporal stores where the processor has them. What it has written is visible to others as after ordinary stores.
void streaming_copy(std::span<const std::byte> source, std::byte* target) noexcept;

/// Bytes of all caches of the last level together; a usual size where the system does not tell.
std::size_t last_level_cache_bytes();

/// What a loop does between two looks at memory that another core will write. Leaves the core's other hardware thread
/// the execution units, and the bus to the writer, for some tens of cycles.
inline void cpu_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// More is not fetched at a time: a quarter of a common first-level cache, in which other things have their place, too.
inline constexpr std::size_t kPrefetchedBytesMax = 8 * 1024;

/// Begins to make cache lines this core's own before it stores to them, while there is time. Only a hint. For lines
/// that another core has read since this one wrote them: that the other's copies are dropped then happens beside other
/// work, and not when the stores leave the store buffer. Of more than kPrefetchedBytesMax it fetches the first ones,
/// which will be written first.
inline void prefetch_for_writing(const std::byte* memory, std::size_t bytes) noexcept {
  constexpr std::size_t kLineBytes = 64;
  const std::size_t fetched = bytes < kPrefetchedBytesMax ? bytes : kPrefetchedBytesMax;
  for (std::size_t offset = 0; offset < fetched; offset += kLineBytes) {
#if defined(__x86_64__)
    // The builtin makes a prefetch for reading of it, unless the compiler is told of a processor. Processors without
    // the instruction take it for no operation.
    asm volatile("prefetchw %0" : : "m"(memory[offset]));
#else
    __builtin_prefetch(memory + offset, 1);
#endif
  }
}

}  // namespace coracle::internals
