// MADV_POPULATE_WRITE, and accesses that change nothing.
#include "runtime/core/resident.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace coracle::internals {
namespace {

std::uintptr_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

void make_resident(std::byte* begin, std::size_t bytes) noexcept {
  const std::uintptr_t page = page_bytes();
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers don't have
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto to = reinterpret_cast<std::uintptr_t>(begin + bytes) / page * page;
  if (to > from) ::madvise(reinterpret_cast<void*>(from), to - from, kPopulateWrite);
}

void touch_pages(std::byte* begin, std::size_t bytes, Touch how) noexcept {
  const std::uintptr_t page = page_bytes();
  const auto end = reinterpret_cast<std::uintptr_t>(begin + bytes);
  for (auto at = reinterpret_cast<std::uintptr_t>(begin); at < end; at = (at / page + 1) * page) {
    // Others may use it already.
    const std::atomic_ref<unsigned char> byte(*reinterpret_cast<unsigned char*>(at));
    unsigned char now = byte.load(std::memory_order_relaxed);
    // Writes, whether it finds what it awaits or not. (Compilers leave out an addition of nothing.)
    if (how == Touch::write) byte.compare_exchange_strong(now, now, std::memory_order_relaxed);
  }
}

}  // namespace coracle::internals
