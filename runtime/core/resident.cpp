// MADV_POPULATE_WRITE.
#include "runtime/core/resident.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace coracle::internals {

void make_resident(std::byte* begin, std::size_t bytes) noexcept {
  constexpr std::uintptr_t kPage = 4096;
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers don't have
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + kPage - 1) / kPage * kPage;
  const auto to = reinterpret_cast<std::uintptr_t>(begin + bytes) / kPage * kPage;
  if (to > from) ::madvise(reinterpret_cast<void*>(from), to - from, kPopulateWrite);
}

}  // namespace coracle::internals
