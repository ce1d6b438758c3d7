// Which layouts are equal blocks at equal distances on both sides.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "runtime/rank/strided.hpp"
#include "tests/layout/random_layout.hpp"

namespace coracle::internals::scattered::scattered_strided_test {
namespace {

std::optional<StridedShape> shape_of(const Layout& local, const Layout& remote) {
  return common_shape(local, 1, remote, 1);
}

Layout rows(std::int64_t count, std::int64_t bytes, std::int64_t stride) {
  return Layout::bytes(bytes).hvector(count, 1, stride);
}

/// What `shape` copies, byte by byte: from where to where.
std::set<std::pair<std::int64_t, std::int64_t>> copies_of(const StridedShape& shape) {
  std::set<std::pair<std::int64_t, std::int64_t>> copies;
  for (std::uint64_t row = 0; row < shape.rows; ++row)
    for (std::uint64_t column = 0; column < shape.count; ++column)
      for (std::uint64_t byte = 0; byte < shape.block_bytes; ++byte) {
        const auto place = [&](const StridedShape::Side& side) {
          return side.first + static_cast<std::int64_t>(row) * side.row_stride +
                 static_cast<std::int64_t>(column) * side.stride + static_cast<std::int64_t>(byte);
        };
        copies.insert({place(shape.local), place(shape.remote)});
      }
  return copies;
}

}  // namespace

TEST_CASE("strided shapes: a tile on both sides, and a run beside a tile, which is cut into its blocks") {
  const auto tile = shape_of(rows(5, 48, 100), rows(5, 48, -64));
  REQUIRE(tile);
  CHECK(tile->block_bytes == 48);
  CHECK(tile->count == 5);
  CHECK(tile->rows == 1);
  CHECK(tile->local.stride == 100);
  CHECK(tile->remote.stride == -64);
  const auto gathered = shape_of(rows(5, 48, 100), Layout::bytes(240));
  REQUIRE(gathered);
  CHECK(gathered->count == 5);
  CHECK(gathered->remote.stride == 48);
  const auto spread = shape_of(Layout::bytes(240), rows(5, 48, 100));
  REQUIRE(spread);
  CHECK(spread->local.stride == 48);
  CHECK(spread->remote.stride == 100);
}

TEST_CASE("strided shapes: two levels, also beside one, or beside a run") {
  const Layout planes = rows(4, 16, 64).hvector(3, 1, 1000);
  for (const Layout& other : {planes, rows(12, 16, 32), Layout::bytes(192)}) {
    const auto shape = shape_of(planes, other);
    REQUIRE(shape);
    CHECK(shape->block_bytes == 16);
    CHECK(shape->count == 4);
    CHECK(shape->rows == 3);
    CHECK(shape->local.row_stride == 1000);
    const auto turned = shape_of(other, planes);
    REQUIRE(turned);
    CHECK(turned->remote.row_stride == 1000);
    CHECK(turned->local.row_stride == shape->remote.row_stride);
  }
}

TEST_CASE("strided shapes: blocks are cut into those of the other side") {
  const auto shape = shape_of(rows(6, 16, 64), rows(3, 32, 100));
  REQUIRE(shape);
  CHECK(shape->block_bytes == 16);
  CHECK(shape->count == 2);
  CHECK(shape->rows == 3);
  CHECK(shape->local.row_stride == 128);
  CHECK(shape->remote.stride == 16);
  CHECK(shape->remote.row_stride == 100);
}

TEST_CASE("strided shapes: repetitions are a level, too") {
  const Layout column = rows(6, 32, 320).resized(0, 32);
  const auto shape = common_shape(column, 3, Layout::bytes(32), 18);
  REQUIRE(shape);
  CHECK(shape->count == 6);
  CHECK(shape->rows == 3);
  CHECK(shape->local.row_stride == 32);
  CHECK(shape->remote.row_stride == 192);
}

TEST_CASE("strided shapes: none for blocks of different lengths, at irregular places, or that fold in two ways") {
  const Layout list = Layout::bytes(16).hindexed_block(1, {0, 100, 150});
  CHECK_FALSE(shape_of(rows(3, 16, 64), list));
  CHECK_FALSE(shape_of(list, Layout::bytes(48)));
  CHECK_FALSE(shape_of(rows(6, 16, 64), rows(4, 24, 64)));
  CHECK_FALSE(shape_of(rows(2, 16, 64).hvector(3, 1, 1000), rows(3, 16, 64).hvector(2, 1, 1000)));
  CHECK_FALSE(common_shape(Layout(), 1, Layout(), 1));
  const auto far = shape_of(rows(2, 16, INT64_MAX / 2 + 100), Layout::bytes(32));  // no sum beyond 2^63
  REQUIRE(far);
  CHECK(far->local.stride == INT64_MAX / 2 + 100);
}

TEST_CASE("strided shapes: of random layouts they copy what the typemaps say") {
  const std::uint64_t seed = test::chosen_seed();
  std::printf("strided shapes: CORACLE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  test::Dice dice(seed);
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    INFO("seed ", seed, " round ", round);
    const test::Described drawn = test::random_layout(dice, 2);
    const auto bytes = static_cast<std::int64_t>(drawn.map.bytes.size());
    if (bytes == 0) continue;
    const auto shape = shape_of(drawn.layout, Layout::bytes(bytes));
    if (!shape) continue;
    ++found;
    std::set<std::pair<std::int64_t, std::int64_t>> expected;
    for (std::int64_t at = 0; at < bytes; ++at) expected.insert({drawn.map.bytes[static_cast<std::size_t>(at)], at});
    const bool is_same = copies_of(*shape) == expected;
    REQUIRE(is_same);
  }
  CHECK(found > 100);
}

}  // namespace coracle::internals::scattered::scattered_strided_test
