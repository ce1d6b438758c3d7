#include "storage/store/checksum.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace coracle::internals::storage {

std::uint64_t detail::checksum_baseline(const std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t checksum(const std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept {
#if defined(__x86_64__)
  // One load and test: libgcc has asked the processor before main().
  if (__builtin_cpu_supports("avx2")) return detail::checksum_avx2(data, bytes, seed);
#endif
  return detail::checksum_baseline(data, bytes, seed);
}

}  // namespace coracle::internals::storage
