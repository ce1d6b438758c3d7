// Non-temporal stores, and what the system tells of caches.
#include "runtime/core/cpu.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace coracle::internals {

#if defined(__SSE2__)
void streaming_copy(std::span<const std::byte> source, std::byte* target) noexcept {
  constexpr std::size_t kLine = 64;
  const std::size_t head = std::min(source.size(), (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine);
  if (head > 0) std::memcpy(target, source.data(), head);
  const std::byte* from = source.data() + head;
  std::byte* to = target + head;
  std::size_t left = source.size() - head;
  for (; left >= kLine; left -= kLine, from += kLine, to += kLine) {
    // All loads of a line first: the stores then fill one write-combining buffer without a gap.
    const auto* words = reinterpret_cast<const __m128i*>(from);
    auto* stores = reinterpret_cast<__m128i*>(to);
    const __m128i first = _mm_loadu_si128(words);
    const __m128i second = _mm_loadu_si128(words + 1);
    const __m128i third = _mm_loadu_si128(words + 2);
    const __m128i fourth = _mm_loadu_si128(words + 3);
    _mm_stream_si128(stores, first);
    _mm_stream_si128(stores + 1, second);
    _mm_stream_si128(stores + 2, third);
    _mm_stream_si128(stores + 3, fourth);
  }
  if (left > 0) std::memcpy(to, from, left);
  _mm_sfence();  // non-temporal stores are ordered by nothing else
}
#else
void streaming_copy(std::span<const std::byte> source, std::byte* target) noexcept {
  if (!source.empty()) std::memcpy(target, source.data(), source.size());
}
#endif

namespace {

/// Of a file like "0-3,8"; 0 where it can't be read.
std::size_t count_processors(const std::string& path) {
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::size_t first = 0; file >> first; file.get()) {
    std::size_t last = first;
    if (file.peek() == '-') file.get(), file >> last;
    count += last - first + 1;
  }
  return count;
}

}  // namespace

std::size_t last_level_cache_bytes() {
  constexpr std::size_t kUsual = 32 << 20;
  std::size_t largest = 0;
  std::size_t sharers = 1;  // processors that have it in common
  // Not by sysconf, which in virtual machines tells of what all cores of the host have together, nor by hwloc, whose
  // look at the whole machine takes each rank milliseconds.
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::size_t kilobytes = 0;
    if (!(std::ifstream(folder + "/size") >> kilobytes) || kilobytes * 1024 <= largest) continue;  // "32768K"
    largest = kilobytes * 1024;
    sharers = count_processors(folder + "/shared_cpu_list");
  }
  const auto processors = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return largest > 0 ? largest * std::max<std::size_t>(1, processors / std::max<std::size_t>(1, sharers)) : kUsual;
}

}  // namespace coracle::internals
