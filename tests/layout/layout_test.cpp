// Layouts: bounds by MPI's rules, canonical forms of the usual shapes, and what is said about mistakes.
#include "runtime/layout/layout.hpp"

#include <doctest/doctest.h>

#include <complex>
#include <functional>
#include <string>

#include "runtime/core/error.hpp"
#include "runtime/layout/cursor.hpp"

namespace coracle::internals::layout_test {
namespace {

struct Bounds {
  std::int64_t lower;
  std::int64_t extent;
  std::int64_t true_lower;
  std::int64_t true_extent;
  bool operator==(const Bounds&) const = default;
};

Bounds bounds_of(const Layout& layout) {
  return {layout.lower_bound(), layout.extent(), layout.true_lower_bound(), layout.true_extent()};
}

std::string complaint_about(const std::function<void()>& mistake) {
  try {
    mistake();
  } catch (const Error& error) {
    CHECK(error.code() == Errc::bad_input);
    return error.what();
  }
  return "nothing";
}

const Layout kDouble = Layout::of<double>();

}  // namespace

TEST_CASE("layouts: bounds of plain constructors are those of the data") {
  CHECK(bounds_of(Layout()) == Bounds{0, 0, 0, 0});
  CHECK(bounds_of(kDouble) == Bounds{0, 8, 0, 8});
  CHECK(bounds_of(kDouble.vector(3, 2, 4)) == Bounds{0, 80, 0, 80});
  CHECK(bounds_of(kDouble.vector(3, 1, -4)) == Bounds{-64, 72, -64, 72});
  CHECK(bounds_of(kDouble.indexed({1, 2}, {5, -1})) == Bounds{-8, 56, -8, 56});
  CHECK(bounds_of(Layout::structure({{1, 4, Layout::of<int>()}, {1, 16, Layout::of<char>()}})) ==
        Bounds{4, 13, 4, 13});  // without epsilon
  CHECK(kDouble.vector(3, 2, 4).size() == 48);
  CHECK(Layout::of<std::complex<double>>().size() == 16);
}

TEST_CASE("layouts: bounds that were set count wherever the layout is used") {
  const Layout wide = kDouble.resized(-8, 32);
  CHECK(bounds_of(wide) == Bounds{-8, 32, 0, 8});
  CHECK(bounds_of(wide.contiguous(3)) == Bounds{-8, 96, 0, 72});
  CHECK(bounds_of(wide.resized(0, 8)) == Bounds{0, 8, 0, 8});
  // In a structure, those of other fields then count for nothing; also without any data.
  CHECK(bounds_of(Layout::structure({{1, 100, kDouble}, {1, 8, wide}})) == Bounds{0, 32, 8, 100});
  const Layout markers = Layout().resized(-4, 50);
  CHECK(markers.size() == 0);
  CHECK(bounds_of(Layout::structure({{1, 0, markers}, {1, 0, kDouble}})) == Bounds{-4, 50, 0, 8});
  CHECK(bounds_of(kDouble.subarray({4, 6}, {2, 3}, {1, 2})) == Bounds{0, 192, 64, 72});
  CHECK(bounds_of(kDouble.subarray({4, 6}, {2, 3}, {1, 2}, Order::fortran)) == Bounds{0, 192, 72, 80});
  CHECK(bounds_of(kDouble.resized(0, -16).contiguous(3)) == Bounds{-32, 16, -32, 40});
}

TEST_CASE("layouts: counts of 0 leave nothing behind") {
  const Layout wide = kDouble.resized(-8, 32);
  for (const Layout& nothing :
       {wide.contiguous(0), wide.vector(0, 1, 1), wide.vector(3, 0, 1), wide.indexed({0, 0}, {7, 9}),
        wide.indexed_block(0, {1, 2}), wide.indexed({}, {}), Layout::structure({{0, 8, wide}}), Layout::structure({}),
        Layout::bytes(0), Layout().contiguous(7)}) {
    CHECK(nothing == Layout());
    CHECK(nothing.is_contiguous());
  }
  CHECK(Layout::structure({{0, 99, wide}, {1, 8, kDouble}}) == kDouble.hindexed({1}, {8}));
  CHECK(kDouble.indexed({0, 2, 0}, {-50, 1, 50}) == kDouble.indexed({2}, {1}));
}

TEST_CASE("layouts: the same bytes get the same form, however they were described") {
  CHECK(Layout::bytes(8) == kDouble);
  CHECK(kDouble.contiguous(10) == Layout::bytes(80));
  CHECK(kDouble.vector(5, 2, 2) == Layout::bytes(80));
  CHECK(kDouble.contiguous(2).contiguous(5) == Layout::bytes(80));
  CHECK(kDouble.indexed({1, 3, 2}, {0, 1, 4}) == Layout::bytes(48));
  CHECK(Layout::structure({{2, 0, Layout::of<int>()}, {1, 8, kDouble}}) == Layout::bytes(16));
  CHECK(kDouble.vector(5, 2, 4) == kDouble.hvector(5, 2, 32));
  CHECK(kDouble.vector(5, 2, 4) == kDouble.indexed_block(2, {0, 4, 8, 12, 16}));
  CHECK(kDouble.vector(5, 2, 4) == kDouble.contiguous(2).vector(5, 1, 2));
  CHECK(kDouble.vector(6, 1, 3) == kDouble.vector(2, 1, 3).hvector(3, 1, 48));
  CHECK(kDouble.vector(5, 1, -2) == kDouble.indexed_block(1, {0, -2, -4, -6, -8}));
  // A plane of a cube: as subarray, as vector of vectors, and by every index.
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t j = 0; j < 7; ++j) places.push_back(i * 70 + j * 10 + 3);
  const Layout plane = kDouble.subarray({5, 7, 10}, {5, 7, 1}, {0, 0, 3});
  CHECK(plane == kDouble.indexed_block(1, places).resized(0, plane.extent()));
  CHECK(plane == kDouble.hindexed_block(1, {24}).vector(35, 1, 10).resized(0, plane.extent()));
}

TEST_CASE("layouts: the form has few loops") {
  CHECK(kDouble.vector(5, 2, 4).describe() == "5 x 16 B every 32 B");
  CHECK(kDouble.subarray({8, 8, 8}, {2, 8, 8}, {3, 0, 0}).describe() ==
        "1024 B, from 1536; lower bound 0, extent 4096");
  CHECK(kDouble.subarray({8, 8, 8}, {8, 2, 8}, {0, 0, 0}).describe() ==
        "8 x 128 B every 512 B; lower bound 0, extent 4096");
  CHECK(kDouble.subarray({4, 3, 8}, {2, 2, 5}, {0, 0, 0}).node()->depth == 3);
  CHECK(kDouble.indexed_block(1, {0, 2, 5}).describe() == "3 x 8 B at 0, 16, 40");
  CHECK(kDouble.indexed({2, 1}, {0, 5}).describe() == "2 blocks: 16 B at 0, 8 B at 40");
  CHECK(Layout().describe() == "no bytes");
  // Neighbours in a long list stay apart, so that all blocks keep one length.
  std::vector<std::int64_t> places{0, 1};
  for (std::int64_t i = 1; i < 30; ++i) places.push_back(i * i + 3);
  const Layout list = kDouble.indexed_block(1, places);
  CHECK(list.node()->kind == layouts::NodeKind::list);
  CHECK(list.block_count() == 31);
  // The same list, with the neighbours described as one block.
  std::vector<std::int64_t> lengths(30, 1);
  lengths[0] = 2;
  places.erase(places.begin() + 1);
  CHECK(kDouble.indexed(lengths, places) == list);
}

TEST_CASE("layouts: contiguous means that repetitions are too") {
  CHECK(kDouble.is_contiguous());
  CHECK(kDouble.hindexed({3}, {16}).is_contiguous());
  CHECK_FALSE(kDouble.resized(0, 9).is_contiguous());
  CHECK_FALSE(kDouble.vector(2, 1, 2).is_contiguous());
}

TEST_CASE("layouts: the shape for models of costs") {
  const LayoutShape row = Layout::bytes(640).shape(10);
  CHECK(row.blocks == 1);
  CHECK(row.bytes_per_line() == 64);
  const LayoutShape column = kDouble.vector(100, 1, 64).shape();
  CHECK(column.blocks == 100);
  CHECK(column.block_bytes() == 8);
  CHECK(column.lines == 100);
  CHECK(column.bytes_per_line() == 8);
  CHECK(kDouble.vector(100, 1, 2).shape().lines == 25);
  const LayoutShape unequal = kDouble.indexed({3, 1}, {0, 9}).shape(2);
  CHECK(unequal.shortest == 8);
  CHECK(unequal.longest == 24);
  CHECK(unequal.bytes == 64);
}

TEST_CASE("layouts: mistakes are refused with place and remedy") {
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != text.npos; };
  CHECK(has(complaint_about([] { kDouble.contiguous(-1); }), "Layout::contiguous: count is -1; give 0 or more"));
  CHECK(has(complaint_about([] { kDouble.vector(2, -3, 1); }), "block_length is -3"));
  CHECK(has(complaint_about([] { Layout::bytes(-5); }), "count is -5"));
  CHECK(has(complaint_about([] { kDouble.indexed({1}, {1, 2}); }), "1 lengths and 2 displacements; give one length"));
  CHECK(has(complaint_about([] { kDouble.indexed({1, -2}, {1, 2}); }), "lengths[1] is -2"));
  CHECK(has(complaint_about([] { Layout::structure({{-1, 0, kDouble}}); }), "fields[0] has the count -1"));
  CHECK(has(complaint_about([] {
              kDouble.subarray({4, 4}, {2, 2}, {0, 3});
            }),
            "in dimension 1, 2 elements from 3 on leave the array's 4"));
  CHECK(has(complaint_about([] { kDouble.subarray({4}, {2, 2}, {0}); }), "1 sizes, 2 subsizes and 1 starts"));
  CHECK(has(complaint_about([] { kDouble.contiguous(std::int64_t{1} << 60); }), "2^63 or more apart; take smaller"));
  CHECK(has(complaint_about([] { kDouble.vector(3, 1, std::int64_t{1} << 59); }), "2^63 or more apart"));
  CHECK(has(complaint_about([] { kDouble.resized(INT64_MAX, 1); }), "2^63 or more apart"));
  CHECK(has(complaint_about([] { kDouble.indexed_block(1, {INT64_MIN / 8, INT64_MAX / 8}); }), "2^63 or more apart"));
  CHECK(has(complaint_about([] { kDouble.resized(0, 100).footprint(UINT64_MAX / 64); }), "take fewer"));
  CHECK(has(complaint_about([] { kDouble.packed_bytes(std::uint64_t{1} << 60); }), "take fewer"));
  CHECK(has(complaint_about([] {
              Layout nest = kDouble;
              for (int i = 0; i < 40; ++i) nest = nest.hvector(2, 1, nest.extent() + i);
            }),
            "nested more than 32 deep"));
}

}  // namespace coracle::internals::layout_test
