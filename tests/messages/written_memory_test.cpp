// WrittenMemory: of what pages are made, told by the faults that writing costs afterwards.
#include "runtime/messages/written_memory.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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
  /// Faults of writing to so many pages.
  long faults_of_writing(std::size_t first, std::size_t count) const noexcept {
    const long before = faults();
    for (std::size_t i = first; i < first + count; ++i) *static_cast<volatile std::byte*>(page(i)) = std::byte{1};
    return faults() - before;
  }

 private:
  static long faults() noexcept {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  }
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
  return ::madvise(memory.page(0), 4 * kPage, kPopulateWrite) == 0 && memory.faults_of_writing(0, 4) == 0;
}

}  // namespace

TEST_CASE("written memory: what nobody has written gets pages of its own, those at the ends, too") {
  if (!kernel_makes_pages()) return;
  const Fresh memory(64);
  const auto written = std::make_unique<WrittenMemory>();
  written->prepare(memory.pages(0, 64).subspan(kPage / 2, 40 * kPage));
  CHECK(memory.faults_of_writing(0, 41) == 0);
  CHECK(memory.faults_of_writing(41, 23) >= 23);
}

TEST_CASE("written memory: what has been written is left as it is") {
  const std::size_t pages = kBlockBytes / kPage;
  const Fresh memory(2 * pages);
  *memory.page(0) = std::byte{1};
  *memory.page(pages) = std::byte{1};
  const auto written = std::make_unique<WrittenMemory>();
  written->prepare(memory.pages(0, 2 * pages));
  CHECK(memory.faults_of_writing(0, 2 * pages) >= static_cast<long>(2 * pages - 2));
}

TEST_CASE("written memory: a part that has been looked at is not looked at again, another of its block is") {
  if (!kernel_makes_pages() || kBlockBytes / kPage < 4) return;
  const Fresh memory(4);
  const auto written = std::make_unique<WrittenMemory>();
  written->prepare(memory.pages(0, 2));
  CHECK(memory.faults_of_writing(0, 2) == 0);
  ::madvise(memory.page(0), 2 * kPage, MADV_DONTNEED);
  written->prepare(memory.pages(0, 2));
  CHECK(memory.faults_of_writing(0, 2) >= 2);
  written->prepare(memory.pages(2, 2));
  CHECK(memory.faults_of_writing(2, 2) == 0);
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
