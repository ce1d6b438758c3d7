// WrittenMemory: of what pages are made, told by the kernel's table of them.
#include "runtime/messages/written_memory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace written_memory_test {

namespace {

using coracle::internals::WrittenMemory;

const auto kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

constexpr std::size_t kBlockBytes = 64 * 1024;  // that it looks at at a time

/// Fresh memory in small pages, which begins with a block.
class Fresh {
 public:
  explicit Fresh(std::size_t pages) : bytes_(pages * kPage + kBlockBytes) {
    memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory_ != MAP_FAILED);
    ::madvise(memory_, bytes_, MADV_NOHUGEPAGE);
    data_ = static_cast<std::byte*>(memory_);
    data_ += (kBlockBytes - reinterpret_cast<std::uintptr_t>(data_) % kBlockBytes) % kBlockBytes;
  }
  ~Fresh() { ::munmap(memory_, bytes_); }
  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;

  std::byte* page(std::size_t number) const noexcept { return data_ + number * kPage; }
  std::span<const std::byte> pages(std::size_t first, std::size_t count) const noexcept {
    return {page(first), count * kPage};
  }
  /// How many of so many are pages of this process alone: neither absent nor the page of zeros.
  std::size_t own_pages(std::size_t first, std::size_t count) const {
    constexpr std::uint64_t kPresent = 1ULL << 63U, kExclusive = 1ULL << 56U;  // proc_pid_pagemap(5)
    const int fd = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    std::vector<std::uint64_t> entries(count);
    const std::size_t bytes = count * sizeof(std::uint64_t);
    const std::size_t from = reinterpret_cast<std::uintptr_t>(page(first)) / kPage * sizeof(std::uint64_t);
    const ssize_t read = ::pread(fd, entries.data(), bytes, static_cast<off_t>(from));
    ::close(fd);
    REQUIRE(read == static_cast<ssize_t>(bytes));
    return static_cast<std::size_t>(std::ranges::count_if(
        entries, [](std::uint64_t entry) { return (entry & kPresent) != 0 && (entry & kExclusive) != 0; }));
  }

 private:
  std::size_t bytes_;
  void* memory_;
  std::byte* data_;
};

/// An emulator may say yes, and do nothing.
bool kernel_makes_pages() {
  coracle::internals::MappingQuery mappings;
  if (!mappings.mapping_of(reinterpret_cast<std::uintptr_t>(&mappings))) return false;
  constexpr int kPopulateWrite = 23;
  const Fresh memory(4);
  return ::madvise(memory.page(0), 4 * kPage, kPopulateWrite) == 0 && memory.own_pages(0, 4) == 4;
}

}  // namespace

TEST_CASE("written memory: what nobody has written gets pages of its own, those at the ends, too") {
  if (!kernel_makes_pages()) return;
  const Fresh memory(64);
  const auto written = std::make_unique<WrittenMemory>();
  written->prepare(memory.pages(0, 64).subspan(kPage / 2, 40 * kPage));
  CHECK(memory.own_pages(0, 41) == 41);
  CHECK(memory.own_pages(41, 23) == 0);
}

TEST_CASE("written memory: what has been written is left as it is") {
  if (!kernel_makes_pages()) return;
  const std::size_t pages = kBlockBytes / kPage;
  const Fresh memory(2 * pages);
  *memory.page(0) = std::byte{1};
  *memory.page(pages) = std::byte{1};
  const auto written = std::make_unique<WrittenMemory>();
  written->prepare(memory.pages(0, 2 * pages));
  CHECK(memory.own_pages(0, 2 * pages) == 2);
}

TEST_CASE("written memory: a part that has been looked at is not looked at again, another of its block is") {
  if (!kernel_makes_pages() || kBlockBytes / kPage < 4) return;
  const Fresh memory(4);
  const auto written = std::make_unique<WrittenMemory>();
  written->prepare(memory.pages(0, 2));
  CHECK(memory.own_pages(0, 2) == 2);
  ::madvise(memory.page(0), 2 * kPage, MADV_DONTNEED);
  written->prepare(memory.pages(0, 2));
  CHECK(memory.own_pages(0, 2) == 0);
  written->prepare(memory.pages(2, 2));
  CHECK(memory.own_pages(2, 2) == 2);
}

TEST_CASE("written memory: files are not written to") {
  const int fd = ::memfd_create("written memory", MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::ftruncate(fd, static_cast<off_t>(kBlockBytes)) == 0);  // a hole
  void* const memory = ::mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REQUIRE(memory != MAP_FAILED);
  const auto written = std::make_unique<WrittenMemory>();
  written->prepare({static_cast<const std::byte*>(memory), kBlockBytes});
  ::msync(memory, kBlockBytes, MS_SYNC);
  struct stat status {};
  REQUIRE(::fstat(fd, &status) == 0);
  // A look is a read, which takes a page here: of two blocks, where it begins within one.
  CHECK(static_cast<std::size_t>(status.st_blocks) * 512 <= 2 * kPage);
  ::munmap(memory, kBlockBytes);
  ::close(fd);
}

TEST_CASE("written memory: what may not be written is no fault") {
  void* const memory = ::mmap(nullptr, 4 * kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const auto written = std::make_unique<WrittenMemory>();
  written->prepare({static_cast<const std::byte*>(memory), 4 * kPage});
  written->prepare({});
  ::munmap(memory, 4 * kPage);
}

}  // namespace written_memory_test
