#include "storage/mapped/huge_page_pool.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "runtime/core/error.hpp"

namespace coracle::internals::storage {
namespace {

constexpr std::size_t kPlaces = 16;

}  // namespace

std::size_t HugePagePool::bytes_beside(std::size_t page_bytes) noexcept {
  return page_bytes % kHugePageBytes == 0 ? kPlaces * page_bytes : 0;
}

HugePagePool::HugePagePool(Userfault& faults, std::size_t page_bytes) : faults_(faults), page_bytes_(page_bytes) {
  if (bytes_beside(page_bytes) == 0 || !faults.moves()) return;
  full_.reserve(kPlaces);
  for (std::size_t i = 0; i < kPlaces; ++i) vacant_.push_back(faults.beside() + i * page_bytes);
  void* memory = ::mmap(nullptr, page_bytes + kHugePageBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw_errno(errno, fmt::format("mmap of {} bytes beside a window", page_bytes));
  ::madvise(memory, page_bytes + kHugePageBytes, MADV_HUGEPAGE);  // only a hint
  nursery_ = static_cast<std::byte*>(memory);
}

HugePagePool::~HugePagePool() {
  if (usable()) ::munmap(nursery_, page_bytes_ + kHugePageBytes);
}

int HugePagePool::fill(std::size_t offset, const std::byte* source) noexcept {
  if (full_.empty()) {
    const auto start = reinterpret_cast<std::uintptr_t>(nursery_);
    std::byte* fresh = nursery_ + (kHugePageBytes - start % kHugePageBytes) % kHugePageBytes;
    std::memcpy(fresh, source, page_bytes_);
    return faults_.move_in(offset, fresh, page_bytes_);
  }
  std::byte* place = full_.back();
  full_.pop_back();
  vacant_.push_back(place);
  std::memcpy(place, source, page_bytes_);
  const int error = faults_.move_in(offset, place, page_bytes_);
  if (error != 0) ::madvise(place, page_bytes_, MADV_DONTNEED);
  return error;
}

void HugePagePool::take_out(std::size_t offset) noexcept {
  if (vacant_.empty()) return faults_.drop(offset, page_bytes_);
  std::byte* place = vacant_.back();
  if (faults_.move_out(offset, place, page_bytes_) != 0) return;
  vacant_.pop_back();
  full_.push_back(place);
}

}  // namespace coracle::internals::storage
