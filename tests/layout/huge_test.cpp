// More than 2^31 bytes: sizes, seeking and small copies, without most of the memory ever being touched.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>

#include "runtime/layout/cursor.hpp"
#include "runtime/layout/layout.hpp"

namespace coracle::internals::huge_test {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

/// Zeroed memory that costs only what is touched.
struct Sparse {
  std::size_t bytes;
  std::byte* data;
  explicit Sparse(std::int64_t size) : bytes(static_cast<std::size_t>(size)) {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    data = static_cast<std::byte*>(mapped);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  ~Sparse() { ::munmap(data, bytes); }
};

void write_number(std::byte* place, std::uint64_t number) {
  std::memcpy(place, &number, sizeof number);
}
std::uint64_t number_at(const std::byte* place) {
  std::uint64_t number = 0;
  std::memcpy(&number, place, sizeof number);
  return number;
}

}  // namespace

TEST_CASE("huge layouts: sizes and extents beyond 2^31 and 2^40") {
  const Layout row = Layout::of<double>().contiguous(kGiB);
  CHECK(row.size() == 8ULL << 30);
  const Layout matrix = Layout::of<double>().vector(kGiB, 1024, 2048);
  CHECK(matrix.size() == 8ULL << 40);
  CHECK(matrix.extent() == (kGiB - 1) * 2048 * 8 + 8192);
  CHECK(matrix.packed_bytes(1000) == 8000ULL << 40);
  CHECK(matrix.block_count() == 1ULL << 30);
  const layouts::Cursor cursor(matrix, 1000, (999ULL << 43) + (5ULL << 13) + 16);
  CHECK(cursor.group().offset == 999 * matrix.extent() + 5 * 16384 + 16);
  CHECK(cursor.group().block_bytes == 8192 - 16);
}

TEST_CASE("huge layouts: parts far behind 2^32 are packed and unpacked") {
  const Layout layout = Layout::of<std::uint64_t>().vector(kGiB, 1, 8);  // 8 GiB packed, over 64 GiB
  const Sparse memory(64 * kGiB);
  constexpr std::uint64_t kFirst = 900'000'000;
  for (std::uint64_t i = 0; i < 10; ++i) write_number(memory.data + (kFirst + i) * 64, i + 77);
  std::byte packed[80];
  CHECK(pack({memory.data, layout}, kFirst * 8, packed) == 80);
  for (std::uint64_t i = 0; i < 10; ++i) CHECK(number_at(packed + 8 * i) == i + 77);
  CHECK(unpack(packed, (kFirst + 100) * 8, {memory.data, layout}) == 80);
  for (std::uint64_t i = 0; i < 10; ++i) CHECK(number_at(memory.data + (kFirst + 100 + i) * 64) == i + 77);
  CHECK(pack({memory.data, layout}, (8ULL << 30) - 8, packed) == 8);
}

TEST_CASE("huge layouts: direct copies between far places of different layouts") {
  const Sparse source(6 * kGiB);
  const Sparse target(24 * kGiB);
  const Layout run = Layout::bytes(3 * kGiB);
  const Layout strided = Layout::of<std::uint64_t>().vector(kGiB * 6 / 8, 1, 4);
  constexpr std::uint64_t kPosition = (5ULL << 30) + 808;
  write_number(source.data + kPosition, 123456789);
  write_number(source.data + kPosition + 8, 987654321);
  copy({target.data, strided}, {source.data, run, 2}, kPosition, 16);
  CHECK(number_at(target.data + kPosition * 4) == 123456789);
  CHECK(number_at(target.data + kPosition * 4 + 32) == 987654321);
  CHECK(number_at(target.data + kPosition * 4 + 64) == 0);
}

}  // namespace coracle::internals::huge_test
