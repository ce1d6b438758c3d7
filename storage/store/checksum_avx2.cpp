// Compiled for AVX2. Includes nothing with inline functions that others might link, hence no C++ library beyond
// <cstddef> and <cstdint>; xxhash's functions are all static here.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "storage/store/checksum.hpp"

namespace coracle::internals::storage {

std::uint64_t detail::checksum_avx2(const std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

}  // namespace coracle::internals::storage
