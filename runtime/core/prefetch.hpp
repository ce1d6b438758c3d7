// prefetch_for_writing: begins to make cache lines this core's own before it stores to them, while there is time.
#pragma once

#include <cstddef>

namespace coracle::internals {

/// More is not fetched at a time: a quarter of a common first-level cache, in which other things have their place, too.
inline constexpr std::size_t kPrefetchedBytesMax = 8 * 1024;

/// Only a hint. For lines that another core has read since this one wrote them: that the other's copies are dropped
/// then happens beside other work, and not when the stores leave the store buffer. Of more than kPrefetchedBytesMax it
/// fetches the first ones, which will be written first.
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
