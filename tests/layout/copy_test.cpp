// Packing and copying by cases worth naming; random_test.cpp goes through the rest.
#include "runtime/layout/layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "runtime/layout/cursor.hpp"
#include "tests/allocations.hpp"

namespace coracle::internals::copy_test {
namespace {

template <class T>
std::vector<T> numbers(std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

std::span<std::byte> room_of(std::vector<double>& values) {
  return std::as_writable_bytes(std::span(values));
}

const Layout kDouble = Layout::of<double>();

}  // namespace

TEST_CASE("copies: a transposition is one copy between two layouts") {
  constexpr std::int64_t kRows = 37;
  constexpr std::int64_t kColumns = 53;
  const std::vector<double> source = numbers<double>(kRows * kColumns);
  std::vector<double> target(kRows * kColumns, -1);
  const Layout column = kDouble.vector(kRows, 1, kColumns).resized(0, 8);
  copy({target.data(), Layout::bytes(kRows * kColumns * 8)}, {source.data(), column, kColumns}, 0,
       kRows * kColumns * 8);
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t j = 0; j < kColumns; ++j) REQUIRE(target[j * kRows + i] == source[i * kColumns + j]);
  std::vector<double> back(kRows * kColumns, -1);
  CHECK(unpack(room_of(target), 0, {back.data(), column, kColumns}) == kRows * kColumns * 8);
  CHECK(back == source);
}

TEST_CASE("copies: between the same places of pages, where loads and stores go apart") {
  constexpr std::size_t kPage = 4096;
  constexpr std::int64_t kCount = 100;
  for (const std::int64_t bytes : {8, 12, 40, 128, 200}) {
    for (const std::int64_t stride : {4096, 2048, 4112, -4096}) {
      CAPTURE(bytes);
      CAPTURE(stride);
      const Layout layout = Layout::bytes(bytes).hvector(kCount, 1, stride);
      const std::size_t reach = 4112 * kCount;
      std::vector<std::byte> source(2 * reach + kPage);
      std::vector<std::byte> target(source.size(), std::byte{0xee});
      for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 13 + i / 251);
      const auto middle = [&](std::vector<std::byte>& memory) {
        const auto place = reinterpret_cast<std::uintptr_t>(memory.data()) + reach;
        return memory.data() + reach + (kPage - place % kPage) % kPage;
      };
      std::vector<std::byte> expected = target;
      const std::uint64_t skipped = static_cast<std::uint64_t>(bytes) / 2;
      for (std::int64_t i = 0; i < kCount; ++i)
        for (std::int64_t j = i == 0 ? bytes / 2 : 0; j < bytes; ++j)
          expected[static_cast<std::size_t>(middle(target) - target.data() + i * stride + j)] =
              middle(source)[i * stride + j];
      copy({middle(target), layout}, {middle(source), layout}, skipped, layout.size() - skipped);
      CHECK(target == expected);
      copy({middle(target), layout}, {middle(source), layout}, 0, layout.size());
      CHECK(std::equal(middle(target), middle(target) + skipped, middle(source)));
    }
  }
}

TEST_CASE("copies: lists whose blocks are spread over more than a cache") {
  std::mt19937_64 random(3);
  constexpr std::int64_t kBlocksMax = 1200;
  for (const std::int64_t blocks : {255, 256, 257, 999, 1200})
    for (const std::int64_t apart : {16, 200, 3000})  // within a cache, and over one
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{4}, std::size_t{12}, std::size_t{16}}) {
        std::vector<std::int64_t> places(static_cast<std::size_t>(blocks));
        for (std::size_t i = 0; i < places.size(); ++i)
          places[i] = (static_cast<std::int64_t>(i) - blocks / 2) * apart + static_cast<std::int64_t>(random() % 4);
        std::shuffle(places.begin(), places.end(), random);
        const Layout listed = Layout::bytes(static_cast<std::int64_t>(bytes)).hindexed_block(1, places);
        const auto half = static_cast<std::size_t>(kBlocksMax * apart / 2 + 64);
        std::vector<std::byte> packed(places.size() * bytes);
        for (std::byte& byte : packed) byte = static_cast<std::byte>(random() | 1);
        std::vector<std::byte> memory(2 * half);
        REQUIRE(unpack(packed, 0, {memory.data() + half, listed}) == packed.size());
        std::vector<std::byte> expected(memory.size());
        for (std::size_t i = 0; i < places.size(); ++i)
          std::memcpy(expected.data() + half + places[i], packed.data() + i * bytes, bytes);
        REQUIRE(memory == expected);
      }
}

TEST_CASE("copies: rows of short blocks that go to many lines") {
  std::mt19937_64 random(4);
  struct Shape {
    std::int64_t count, rows;
  };
  for (const auto [count, rows] : {Shape{31, 40}, {32, 32}, {32, 33}, {33, 40}, {65, 26}, {1500, 1}, {300, 5}})
    for (const std::int64_t bytes : {1, 3, 12, 16, 100, 128})
      for (const std::int64_t apart : {40, 64, 128, -128, 300, 512, 520})
        for (const std::int64_t gap : {0, 72, -9}) {
          if (std::abs(apart) < bytes) continue;
          CAPTURE(count);
          CAPTURE(bytes);
          CAPTURE(apart);
          const std::int64_t row = count * apart + (apart > 0 ? std::max<std::int64_t>(gap, 0) : gap);
          const Layout rows_apart = Layout::bytes(bytes).hvector(count, 1, apart).hvector(rows, 1, row);
          const auto half = static_cast<std::size_t>((rows + 1) * std::abs(row) + 1024);
          std::vector<std::byte> packed(rows_apart.size());
          for (std::byte& byte : packed) byte = static_cast<std::byte>(random() | 1);
          std::vector<std::byte> memory(2 * half);
          const std::uint64_t skipped = packed.size() > 5000 ? 5 : 0;
          REQUIRE(unpack(std::span(packed).subspan(skipped), skipped, {memory.data() + half, rows_apart}) ==
                  packed.size() - skipped);
          std::vector<std::byte> expected(memory.size());
          std::uint64_t at = 0;
          for (std::int64_t i = 0; i < rows * count; ++i)
            for (std::int64_t j = 0; j < bytes; ++j, ++at)
              if (at >= skipped)
                expected[half + static_cast<std::size_t>(i / count * row + i % count * apart + j)] = packed[at];
          REQUIRE(memory == expected);
        }
}

TEST_CASE("copies: from a position on, as much as there is room for") {
  const std::vector<double> source = numbers<double>(100);
  const Layout layout = kDouble.vector(10, 2, 5);
  std::vector<double> packed(25, -1);
  CHECK(pack({source.data(), layout, 2}, 0, room_of(packed).first(56)) == 56);
  CHECK(packed[6] == 15);
  CHECK(packed[7] == -1);
  CHECK(pack({source.data(), layout, 2}, 16 * 8, room_of(packed)) == 24 * 8);
  CHECK(packed[0] == 40);
  CHECK(packed[23] == 47 + 45 + 1);
  CHECK(packed[24] == -1);
  CHECK(pack({source.data(), layout, 2}, 40 * 8, room_of(packed)) == 0);
  CHECK(pack({nullptr, Layout(), 9}, 0, room_of(packed)) == 0);
}

TEST_CASE("copies: what overlaps is packed as often as it is named") {
  const std::vector<double> source = numbers<double>(4);
  std::vector<double> packed(6, -1);
  CHECK(pack({source.data(), kDouble.vector(3, 2, 1)}, 0, room_of(packed)) == 48);
  CHECK(packed == std::vector<double>{0, 1, 1, 2, 2, 3});
  CHECK(pack({source.data(), kDouble.vector(6, 1, 0)}, 0, room_of(packed)) == 48);
  CHECK(packed == std::vector<double>(6, 0));
}

TEST_CASE("copies: nothing is allocated") {
  const std::vector<double> source = numbers<double>(1000);
  std::vector<double> target(1000, -1);
  const Layout list = kDouble.indexed_block(1, {3, 9, 1, 70, 40, 2, 8});
  const Layout mixed = Layout::structure({{1, 0, list}, {1, 800, kDouble.vector(4, 2, 3)}});
  const Layout stride = kDouble.vector(15, 1, 2);
  const std::uint64_t before = test::allocation_count();
  copy({target.data(), stride}, {source.data(), mixed}, 0, 15 * 8);
  const Layout shared = mixed;
  CHECK(test::allocation_count() == before);
  CHECK(target[2 * 7] == 100);
  CHECK(shared == mixed);
}

TEST_CASE("cursors: groups are as large as can be") {
  const auto group_at = [](const Layout& layout, std::uint64_t count, std::uint64_t position) {
    return layouts::Cursor(layout, count, position).group();
  };
  CHECK(group_at(Layout::bytes(100), 7, 0).block_bytes == 700);
  CHECK(group_at(kDouble.resized(0, 24), 7, 0).count == 7);
  const layouts::Group rows = group_at(kDouble.vector(5, 1, 4).resized(0, 1000), 3, 0);
  CHECK(rows.count == 5);
  CHECK(rows.rows == 3);
  CHECK(rows.row_stride == 1000);
  CHECK(group_at(kDouble.vector(5, 1, 4).resized(0, 160), 3, 0).count == 15);
  const layouts::Group rest = group_at(kDouble.vector(5, 1, 4).resized(0, 1000), 3, 48 + 4);
  CHECK(rest.count == 1);
  CHECK(rest.block_bytes == 4);
  CHECK(rest.offset == 1036);
  CHECK(layouts::Cursor(kDouble, 3, 24).at_end());
}

}  // namespace coracle::internals::copy_test
