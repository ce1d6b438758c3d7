// MADV_POPULATE_WRITE.
#include "runtime/core/resident.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace coracle::internals {

void make_resident(std::byte* begin, std::size_t bytes) noexcept {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, which older headers don't have
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto to = reinterpret_cast<std::uintptr_t>(begin + bytes) / page * page;
  if (to > from) ::madvise(reinterpret_cast<void*>(from), to - from, kPopulateWrite);
}

}  // namespace coracle::internals
