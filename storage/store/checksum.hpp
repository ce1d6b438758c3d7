// The checksum of pages and of a store's own blocks: XXH3, 64 bits. Compiled once for AVX2 and once for any machine,
// and chosen at run time, so that it keeps up with memory rather than with the device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::internals::storage {

/// XXH3-64 of `bytes` bytes; any thread. The same on every machine.
std::uint64_t checksum(const std::byte* data, std::size_t bytes, std::uint64_t seed = 0) noexcept;

namespace detail {
std::uint64_t checksum_baseline(const std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept;
#if defined(__x86_64__)
std::uint64_t checksum_avx2(const std::byte* data, std::size_t bytes, std::uint64_t seed) noexcept;
#endif
}  // namespace detail

}  // namespace coracle::internals::storage
